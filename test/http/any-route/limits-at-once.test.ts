import { afterAll, beforeAll, expect, it } from 'vitest'
import { inviteFirstOwner, renewInvitation } from '../../../src/flow/joining/invite-user.ts'
import { alter, newCaller } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { askFor, linkTo, newSpeaker, proofForLink } from '../../support/chat-speaker.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  invitationFor,
  linkToken,
  passkeyProof,
  wrongCodeAt,
} from '../../support/enrolled.ts'
import { type Answer, createHttpClient } from '../../support/http-client.ts'
import { inviteMember, newOwner } from '../../support/invited.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

/** Every "at most" of a person or an account that no other file attacks, by calls at once. */
let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

const fresh = () => `at-once-${++people}@example.com`
const userOf = async ({ userId }: Pick<EnrolledPerson, 'userId'>) =>
  (await service.composition.deps.users.find(userId)) ?? expect.unreachable()

/** Counts answers by their status and error. */
function count(answers: readonly Pick<Answer, 'status' | 'body'>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const name = `${status} ${body?.error ?? ''}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

it('20 passkeys of a person, in one session and in several', async () => {
  const person = await enrolWithPasskey(service, fresh())
  const { passkeys } = await userOf(person)
  const more = Array.from({ length: 18 }, (_, n) => ({
    ...passkeys[0],
    id: `pk_${n}`,
    credential_id: `c${n}`,
  }))
  await alter(service, 'users', person.userId, { passkeys: [...passkeys, ...more] })
  const calls: (() => Promise<Answer>)[] = []
  for (let n = 0; n < 6; n += 1) {
    const browser = n % 2 === 0 ? person.browser : await signedIn(person)
    const proof = await passkeyProof({ ...person, browser }, service, 'passkey.add')
    const { options } = expectStatus(await browser.post('/api/v1/me/passkeys/options', { proof }), 200)
    const credential = createSoftAuthenticator().register(options, { origin: service.url })
    calls.push(() => browser.post('/api/v1/me/passkeys', { name: 'one more', credential }))
  }
  const answers = await Promise.all(calls.map((call) => call()))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect((await userOf(person)).passkeys).toHaveLength(20)
  const full = await (await signedIn(person)).post('/api/v1/me/step-up/options', { operation: 'passkey.add' })
  expect([full.status, full.body]).toEqual([
    409,
    { error: 'passkey_limit', message: 'You have reached the limit of 20 passkeys; remove one first.' },
  ])
})

it('10 chat identities of a person', async () => {
  const person = await enrolWithPasskey(service, fresh())
  for (let n = 0; n < 8; n += 1) await linkTo(service, person, newSpeaker())
  const bodies: object[] = []
  for (let n = 0; n < 5; n += 1) {
    const token = await askFor(service, newSpeaker(), 'link')
    bodies.push({ token, proof: await proofForLink(service, person, token) })
  }
  const answers = await Promise.all(bodies.map((body) => person.browser.post('/api/v1/chat-links/use', body)))
  expect(count(answers)).toEqual({ '200': 2, '409 identity_limit': 3 })
  expect((await userOf(person)).chat).toHaveLength(10)
})

it('50 members of an account', async () => {
  const owner = await newOwner(service, fresh())
  const at = new Date()
  const member = { role: 'auditor', state: 'invited', invited_at: at, joined_at: null }
  const members = Array.from({ length: 47 }, (_, n) => ({
    ...member,
    user_id: `usr_${`${n}`.padStart(26, '0')}`,
  }))
  await alter(service, 'accounts', owner.accountId, { members })
  const bodies: object[] = []
  for (let n = 0; n < 8; n += 1) {
    const email = fresh()
    bodies.push({
      email,
      role: 'approver',
      proof: await passkeyProof(owner, service, 'member.invite', email),
    })
  }
  const answers = await Promise.all(bodies.map((body) => owner.browser.post('/api/v1/account/members', body)))
  expect(count(answers)).toEqual({ '201': 3, '409 member_limit': 5 })
  expect((await service.composition.deps.accounts.find(owner.accountId))?.members).toHaveLength(50)
})

it('one open link of a person, and one for setting up', async () => {
  const { deps } = service.composition
  const owner = await newOwner(service, fresh())
  const { member } = await inviteMember(service, owner, fresh())
  const path = `/api/v1/account/members/${member.user_id}/link`
  const proofs: object[] = []
  for (let n = 0; n < 8; n += 1)
    proofs.push(await passkeyProof(owner, service, 'member.invite', member.user_id))
  const answers = await Promise.all(proofs.map((proof) => owner.browser.post(path, { proof })))
  expect(count(answers)).toEqual({ '201': 8 })
  const invited = answers.map(({ body }) => body.link.url)
  const { email } = owner
  const eight = Array.from({ length: 8 })
  const renewed = await Promise.all(eight.map(() => renewInvitation(deps, { email }, { kind: 'cli' })))
  const empty = await useService({ env: { TRUST_PROXY: '1' } })
  const first = await Promise.all(eight.map(() => inviteFirstOwner(empty.composition.deps)))
  for (const [on, urls] of [
    [service, invited],
    [service, renewed.map(({ link }) => link.url)],
    [empty, first.map((link) => link?.url ?? expect.unreachable())],
  ] as const) {
    const stranger = createHttpClient(on.url)
    const look = (url: string) => stranger.post('/api/v1/enrollment/lookup', { token: linkToken(url) })
    expect(count(await Promise.all(urls.map(look)))).toEqual({ '200': 1, '410 enrollment_invalid': 7 })
  }
})

it('five tries of codes under a link, and of new codes', async () => {
  const token = await invitationFor(service, fresh())
  const browser = createHttpClient(service.url)
  const link = expectStatus(await browser.post('/api/v1/enrollment/totp/options', { token }), 200)
  const person = await enrolWithPasskey(service, fresh())
  const proof = await passkeyProof(person, service, 'totp.add')
  const own = expectStatus(await person.browser.post('/api/v1/me/totp/options', { proof }), 200)
  const now = service.composition.deps.clock.now()
  for (const [client, path, secret, dead, more] of [
    [browser, '/api/v1/enrollment/totp', link.secret, '410 enrollment_invalid', { token }],
    [person.browser, '/api/v1/me/totp', own.secret, '409 totp_not_started', {}],
  ] as const) {
    const wrong = { ...more, code: wrongCodeAt(secret, now) }
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.post(path, wrong)))
    expect(count(answers)).toEqual({ '403 totp_refused': 5, [dead]: 15 })
    const late = await client.post(path, { ...more, code: codeAt(secret, now) })
    expect(count([late])).toEqual({ [dead]: 1 })
  }
})

it('10 open waits of a key', async () => {
  const caller = await newCaller(service)
  const id = await caller.createdId()
  let refused = 0
  const waits = Array.from({ length: 25 }, async () => {
    const answer = await caller.send(`/api/v1/approvals/${id}/wait?timeout=60`)
    if (answer.status === 429) refused += 1
    return answer
  })
  await waitUntil(() => expect(refused).toBe(15))
  const cancel = { method: 'POST', json: {} }
  expect((await caller.send(`/api/v1/approvals/${id}/cancel`, cancel)).status).toBe(200)
  expect(count(await Promise.all(waits))).toEqual({ '200': 10, '429 too_many_waits': 15 })
})

/** Another session of the person. */
async function signedIn(person: EnrolledPerson) {
  const browser = createHttpClient(service.url)
  const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(person, service, options)
  expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
  return browser
}

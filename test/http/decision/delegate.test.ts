import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Delegate } from '../../../src/domain/user.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../../src/signing/verify-node.ts'
import { setPolicy } from '../../support/deciders.ts'
import { codeAt, type EnrolledPerson, enrolWithPasskey, enrolWithTotp } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { asMembers } from '../../support/members.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
let ann: EnrolledPerson
let bob: EnrolledPerson
let dee: EnrolledPerson
let account: string

beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
  ann = await enrolWithPasskey(service, 'ann@example.com')
  bob = await enrolWithPasskey(service, 'bob@example.com')
  dee = await enrolWithPasskey(service, 'dee@example.com')
  account = (await userOf(setting.owner)).account_id
})
afterAll(() => service.close())
beforeEach(async () => {
  await setPolicy(service, account, { approvers: [ann.userId, bob.userId], quorum: 2 })
  await join(ann, bob, dee)
  for (const person of [ann, bob]) await standIn(person, undefined)
})

async function userOf(person: EnrolledPerson) {
  return (await service.composition.deps.users.find(person.userId)) ?? expect.unreachable()
}

async function join(...people: EnrolledPerson[]): Promise<void> {
  const accounts = service.composition.connection.collection<{ _id: string }>('accounts')
  const members = asMembers(people.map(({ userId }) => userId))
  await accounts.updateOne({ _id: account }, { $set: { members } })
}

/** `delegate` acts for the person from an hour ago to in an hour. */
async function standIn(
  person: EnrolledPerson,
  delegate: EnrolledPerson | undefined,
  hours: readonly [number, number] = [-1, 1],
): Promise<void> {
  const at = (offset: number) => new Date(Date.now() + offset * 3_600_000)
  const named: Delegate | null =
    delegate === undefined
      ? null
      : { user_id: delegate.userId, starts_at: at(hours[0]), ends_at: at(hours[1]) }
  const { version } = await userOf(person)
  await service.composition.deps.users.change(person.userId, version, { delegate: named }, [])
}

function decideAs(person: EnrolledPerson, id: string, decision: 'approved' | 'rejected' = 'approved') {
  return decideByPasskey({ ...setting, owner: person }, id, decision)
}

async function pendingOf(person: EnrolledPerson) {
  const { status, body } = await person.browser.get('/api/v1/me/pending')
  expect(status).toBe(200)
  return body.data as { id: string; on_behalf_of: { name: string; approver: string } | null }[]
}

describe('a delegate', () => {
  it('sees the request in their inbox, votes for the person with their own passkey, and is named beside them', async () => {
    await standIn(ann, dee)
    const id = await ask(setting)
    const [principal, acting] = [await userOf(ann), await userOf(dee)]
    const expected = { name: principal.name, approver: principal.approver, delegate: acting.approver }
    expect((await pendingOf(dee)).find((row) => row.id === id)).toMatchObject({ on_behalf_of: expected })
    const review = await dee.browser.get(`/api/v1/approvals/${id}/review`)
    expect(review.body).toMatchObject({ may_decide: true, approver: null, on_behalf_of: expected })
    const first = await decideAs(dee, id)
    expect(first).toMatchObject({
      status: 200,
      body: { status: 'pending', vote: { approver: principal.approver, delegate: acting.approver } },
    })
    const last = await decideAs(bob, id)
    expect(last.body.status).toBe('approved')
    const { votes } = last.body.decision
    const byDelegate = votes.find((vote: { delegate?: string }) => vote.delegate !== undefined)
    expect(JSON.parse(byDelegate.intent)).toMatchObject({
      approver: principal.approver,
      delegate: acting.approver,
    })
    const keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
    expect(verifyReceiptJson({ decision: byDelegate }, keys)).toMatchObject({ valid: true })
    expect((await pendingOf(dee)).map((row) => row.id)).not.toContain(id)
  })

  it('closes a request: the decision names both', async () => {
    await setPolicy(service, account, { approvers: [ann.userId], quorum: 1 })
    await join(ann, dee)
    await standIn(ann, dee)
    const id = await ask(setting, { callback_url: 'https://receiver.example/hook' })
    const [principal, acting] = [await userOf(ann), await userOf(dee)]
    const { body } = await decideAs(dee, id, 'rejected')
    const both = { approver: principal.approver, delegate: acting.approver }
    expect(body).toMatchObject({ status: 'rejected', decision: both })
    const verdict = await (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json()
    expect(verdict).toMatchObject({
      valid: true,
      delegate: both.delegate,
      payload: { approver: both.approver },
    })
    const callback = (await service.composition.deps.requests.find(id))?.callback?.body ?? ''
    expect(JSON.parse(callback)).toMatchObject({ request_id: id, delegate: both.delegate })
  })

  it.each([
    ['does not begin before its time', [1, 2]],
    ['ends', [-2, -1]],
  ] as const)('standing in %s: 404, and nothing waits', async (_what, hours) => {
    await standIn(ann, dee, hours)
    const id = await ask(setting)
    expect((await pendingOf(dee)).map((row) => row.id)).not.toContain(id)
    const refused = await dee.browser.post(`/api/v1/approvals/${id}/decision/options`, {
      decision: 'approved',
    })
    expect(refused).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })

  it('who is no approver of the account stands in for nobody there: 404', async () => {
    await standIn(ann, dee)
    await join(ann, bob)
    const id = await ask(setting)
    expect((await pendingOf(dee)).map((row) => row.id)).not.toContain(id)
    const answer = await dee.browser.get(`/api/v1/approvals/${id}/review`)
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })

  it('counts once: neither twice for two people, nor for one who has voted, nor beside their own vote', async () => {
    await standIn(ann, dee)
    await standIn(bob, dee)
    const id = await ask(setting)
    expect((await decideAs(dee, id)).body.status).toBe('pending')
    const again = await dee.browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'approved' })
    expect(again).toMatchObject({ status: 409, body: { error: 'already_voted' } })
    const theirs = await ann.browser.post(`/api/v1/approvals/${id}/decision/options`, {
      decision: 'approved',
    })
    expect(theirs).toMatchObject({ status: 409, body: { error: 'already_voted' } })
  })

  it('who is named votes for themself alone, also when they stand in for another', async () => {
    await standIn(ann, bob)
    const id = await ask(setting)
    const acting = await userOf(bob)
    const first = await decideAs(bob, id)
    expect(first.body.vote).toMatchObject({ approver: acting.approver })
    expect(first.body.vote).not.toHaveProperty('delegate')
    const again = await bob.browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'approved' })
    expect(again).toMatchObject({ status: 409, body: { error: 'already_voted' } })
  })

  it('T16: a proof for one person never becomes a vote for the next when that person votes at the last moment', async () => {
    await standIn(ann, dee)
    await standIn(bob, dee)
    const id = await ask(setting)
    const { requests } = service.composition.deps
    const { recordVote } = requests
    // Ann's own vote is written between the last look at the request and the write of the vote in her name.
    requests.recordVote = async (...vote) => {
      requests.recordVote = recordVote
      expect((await decideAs(ann, id)).body.status).toBe('pending')
      return recordVote(...vote)
    }
    const answer = await decideAs(dee, id)
    expect(answer).toMatchObject({ status: 400, body: { error: 'challenge_invalid' } })
    const votes = (await requests.find(id))?.votes
    expect(votes?.map(({ user_id, on_behalf_of }) => [user_id, on_behalf_of])).toEqual([
      [ann.userId, ann.userId],
    ])
  })

  it('T16, T20: a code says for whom it is given, and is no vote for the next: 400, and the code is still good', async () => {
    const coder = await enrolWithTotp(service, 'coder@example.com')
    const [first, next] = [await userOf(ann), await userOf(bob)]
    const coders = { ...coder, authenticator: dee.authenticator }
    await join(ann, bob, coders)
    await standIn(ann, coders)
    await standIn(bob, coders)
    const id = await ask(setting)
    const path = `/api/v1/approvals/${id}/decision`
    const review = await coder.browser.get(`/api/v1/approvals/${id}/review`)
    expect(review.body.on_behalf_of.approver).toBe(first.approver)
    expect((await decideAs(ann, id)).body.status).toBe('pending')
    // The first code was used up by setting them up.
    const users = service.composition.connection.collection<{ _id: string }>('users')
    await users.updateOne({ _id: coder.userId }, { $set: { 'totp.last_step': 0 } })
    const said = { decision: 'approved', totp: codeAt(coder.secret, service.composition.deps.clock.now()) }
    for (const approver of [undefined, first.approver]) {
      const answer = await coder.browser.post(path, { ...said, approver })
      expect(answer).toMatchObject({ status: 400, body: { error: 'challenge_invalid' } })
    }
    expect((await service.composition.deps.requests.find(id))?.votes).toHaveLength(1)
    const meant = await coder.browser.post(path, { ...said, approver: next.approver })
    expect(meant).toMatchObject({ status: 200, body: { status: 'approved' } })
  })

  it('a proof for one person never becomes a vote for the next: 400', async () => {
    await standIn(ann, dee)
    await standIn(bob, dee)
    const id = await ask(setting)
    const path = `/api/v1/approvals/${id}/decision`
    const { body } = await dee.browser.post(`${path}/options`, { decision: 'approved' })
    expect((await decideAs(ann, id)).body.status).toBe('pending')
    const passkey = dee.authenticator.authenticate(body.options, { origin: service.url })
    const answer = await dee.browser.post(path, { decision: 'approved', passkey })
    expect(answer).toMatchObject({ status: 400, body: { error: 'challenge_invalid' } })
    expect((await service.composition.deps.requests.find(id))?.votes).toHaveLength(1)
  })
})

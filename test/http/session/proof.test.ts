import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renewInvitation } from '../../../src/flow/joining/invite-user.ts'
import { alter } from '../../support/caller.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithTotp,
  expectStatus,
  linkToken,
  passkeyProof,
} from '../../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../../support/http-client.ts'
import { newOwner } from '../../support/invited.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

type Owner = Awaited<ReturnType<typeof newOwner>>

/** Makes a key and reads the secrets, as only a session with a proof may. @returns the statuses */
async function use(browser: HttpClient): Promise<number[]> {
  const made = await browser.post('/api/v1/account/api-keys', { name: 'bot' })
  const read = await browser.get('/api/v1/account/webhook-secret')
  return [made.status, read.status]
}

async function signIn(person: EnrolledPerson, counter: number): Promise<HttpClient> {
  const browser = createHttpClient(service.url)
  const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(person, service, options, { counter })
  expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
  return browser
}

const demandAttested = ({ accountId }: Owner) =>
  alter(service, 'accounts', accountId, { 'policy.authenticators': 'attested' })

/** The genuine passkey shows a counter that the copy has passed. */
async function findCopy({ browser, ...person }: Owner): Promise<void> {
  const asked = await browser.post('/api/v1/me/step-up/options', { operation: 'session.prove' })
  const { options } = expectStatus(asked, 200)
  const proof = { passkey: assertWith(person, service, options, { counter: 6 }) }
  expectStatus(await browser.post('/api/v1/session/proof', { proof }), 403)
}

/** Removes the first passkey with a second one; the session, renewed, goes on. */
async function removeFirst(person: Owner): Promise<void> {
  const { authenticator, browser } = person
  const [first] = expectStatus(await browser.get('/api/v1/me/factors'), 200).passkeys
  const proof = await passkeyProof(person, service, 'passkey.add')
  const { options } = expectStatus(await browser.post('/api/v1/me/passkeys/options', { proof }), 200)
  const credential = authenticator.register(options, { origin: service.url })
  expectStatus(await browser.post('/api/v1/me/passkeys', { name: 'second', credential }), 201)
  const removal = { operation: 'passkey.remove', target: first.id }
  const asked = expectStatus(await browser.post('/api/v1/me/step-up/options', removal), 200)
  const second = authenticator.credentials[1] ?? expect.unreachable()
  const passkey = assertWith(person, service, asked.options, { credential: second })
  expectStatus(await browser.post(`/api/v1/me/passkeys/${first.id}/remove`, { proof: { passkey } }), 200)
}

describe('a proof of the last 15 minutes', () => {
  it.each<[string, (person: Owner) => Promise<unknown>]>([
    ['the account counts attested passkeys alone since', demandAttested],
    ['its passkey has been suspended since', findCopy],
  ])('T34: counts no more when %s', async (_name, change) => {
    const person = await newOwner(service, `${change.name.toLowerCase()}@example.com`)
    const session = await signIn(person, 9)
    expect(await use(session)).toEqual([201, 200])
    await change(person)
    expect(await use(session)).toEqual([403, 403])
    expect((await session.get('/api/v1/session')).status).toBe(200)
  })

  it('T34: counts no more when its passkey was removed in the same session', async () => {
    const person = await newOwner(service, 'remover@example.com')
    expect(await use(person.browser)).toEqual([201, 200])
    await removeFirst(person)
    expect(await use(person.browser)).toEqual([403, 403])
  })

  it('T30: lets a session add no factor that it began to add before its passkey was suspended', async () => {
    const person = await newOwner(service, 'copied@example.com')
    const copy = await signIn(person, 9)
    const prove = async (operation: string, counter: number) => {
      const { options } = expectStatus(await copy.post('/api/v1/me/step-up/options', { operation }), 200)
      return { proof: { passkey: assertWith(person, service, options, { counter }) } }
    }
    const passkey = await copy.post('/api/v1/me/passkeys/options', await prove('passkey.add', 10))
    const made = person.authenticator.register(expectStatus(passkey, 200).options, { origin: service.url })
    const codes = await copy.post('/api/v1/me/totp/options', await prove('totp.add', 11))
    const code = codeAt(expectStatus(codes, 200).secret, new Date())
    await findCopy(person)
    const added = await copy.post('/api/v1/me/passkeys', { name: 'copy', credential: made })
    expect([added.status, added.body]).toEqual([400, expect.objectContaining({ error: 'challenge_invalid' })])
    const set = await copy.post('/api/v1/me/totp', { code })
    expect([set.status, set.body]).toEqual([409, expect.objectContaining({ error: 'totp_not_started' })])
  })

  it('T88: is none by codes enrolled for an account that counts passkeys alone', async () => {
    const person = await newOwner(service, 'coder@example.com')
    await demandAttested(person)
    const { link } = await renewInvitation(service.composition.deps, person, { kind: 'cli' })
    const { browser } = await enrolWithTotp(service, person.email, linkToken(link.url))
    expect(await use(browser)).toEqual([403, 403])
  })
})

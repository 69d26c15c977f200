import { afterAll, beforeAll, expect, it } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { auditOf } from '../../support/audit.ts'
import { newCaller, send, signIn } from '../../support/caller.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { addPerson } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/webhook-secret'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

it('200: gives an API key its own secret, as 64 hex characters, always the same', async () => {
  const caller = await newCaller(service)
  const first = await caller.send(PATH)
  expect(first.status).toBe(200)
  expect(first.headers.get('cache-control')).toBe('no-store')
  expect(first.body).toEqual({ webhook_signing_secret: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect((await caller.send(PATH)).text).toBe(first.text)
  const other = await newCaller(service, { user: caller.user })
  expect((await other.send(PATH)).text).not.toBe(first.text)
})

it('T54: leaves an entry in the trail for every secret that was read, by whom and from where', async () => {
  const one = await newCaller(service)
  const two = await newCaller(service, { user: one.user })
  await one.send(PATH)
  await send(service, PATH, { token: await signIn(service, one.user) })
  const reads = (await auditOf(service, { type: 'key.secret_read' })).filter(
    ({ account_id }) => account_id === one.user.account_id,
  )
  const address = '127.0.0.1'
  const byPerson = { kind: 'user', id: one.user.id, address }
  expect(reads.map(({ subject, actor }) => ({ subject, actor }))).toEqual([
    { subject: one.keyId, actor: { kind: 'api_key', id: one.keyId, address } },
    { subject: one.keyId, actor: byPerson },
    { subject: two.keyId, actor: byPerson },
  ])
})

it('200: needs no scope', async () => {
  const caller = await newCaller(service, { scopes: ['approval:verify'] })
  expect((await caller.send(PATH)).status).toBe(200)
})

it('200: gives a session id, name, key_prefix and secret of every key that is not revoked, and of no other account', async () => {
  const one = await newCaller(service)
  const two = await newCaller(service, { user: one.user, sandbox: true })
  const gone = await newCaller(service, { user: one.user })
  await newCaller(service)
  await revokeApiKey(service.composition.deps, gone.keyId, one.user.account_id, { kind: 'cli' })
  const answer = await send(service, PATH, { token: await signIn(service, one.user) })
  expect(answer.status).toBe(200)
  const secretOf = async (caller: typeof one) => (await caller.send(PATH)).body.webhook_signing_secret
  expect(answer.body).toEqual({
    keys: [
      {
        id: one.keyId,
        name: 'test key',
        key_prefix: one.token.slice(0, 14),
        webhook_signing_secret: await secretOf(one),
      },
      {
        id: two.keyId,
        name: 'test key',
        key_prefix: two.token.slice(0, 14),
        webhook_signing_secret: await secretOf(two),
      },
    ],
  })
})

it('200: an account without keys has an empty list', async () => {
  const user = await addPerson(service, 'keyless@example.com')
  const answer = await send(service, PATH, { token: await signIn(service, user) })
  expect(answer.body).toEqual({ keys: [] })
})

it('401: refuses no credential, a revoked key and a forged session', async () => {
  const caller = await newCaller(service)
  await revokeApiKey(service.composition.deps, caller.keyId, undefined, { kind: 'cli' })
  const revoked = await caller.send(PATH)
  expect([revoked.status, revoked.body.error]).toEqual([401, 'invalid or missing API key'])
  for (const token of [undefined, 'foo', 'sa_live_x']) {
    const none = await send(service, PATH, token === undefined ? {} : { token })
    expect([token, none.status, none.body.error]).toEqual([token, 401, 'invalid or missing API key'])
  }
  const token = `${await signIn(service, caller.user)}x`
  const forged = await send(service, PATH, { token })
  expect([forged.status, forged.body.error]).toEqual([401, 'not_signed_in'])
})

it('401: an API key in the header never falls back to the browser that is signed in', async () => {
  const { browser, userId } = await enrolWithPasskey(service, 'signed-in@example.com')
  const { deps } = service.composition
  const caller = await newCaller(service, { user: (await deps.users.find(userId)) ?? expect.unreachable() })
  await revokeApiKey(deps, caller.keyId, undefined, { kind: 'cli' })
  expect((await browser.get(PATH)).status).toBe(200)
  const headers = { authorization: `Bearer ${caller.token}` }
  expect((await browser.get(PATH, { headers })).status).toBe(401)
})

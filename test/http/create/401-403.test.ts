import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatApiKey } from '../../../src/domain/api-key.ts'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { newCaller, type SendOptions, send, signIn, stored } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/approvals/request'
const post = (options: SendOptions) =>
  send(service, PATH, { method: 'POST', json: { action: 'x' }, ...options })

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe('401', () => {
  const unknown = formatApiKey(false, new Uint8Array(32).fill(7))
  const badCheck = `${unknown.slice(0, -1)}${unknown.endsWith('0') ? '1' : '0'}`
  it.each([
    ['no Authorization header (T62)', {}],
    ['an empty one', { authorization: '' }],
    ['the scheme alone', { authorization: 'Bearer' }],
    ['Basic', { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }],
    ['the key without a scheme', { authorization: unknown }],
    ['a key that does not exist', { authorization: `Bearer ${unknown}` }],
    ['a key with a wrong checksum', { authorization: `Bearer ${badCheck}` }],
    ['a key of another case', { authorization: `Bearer ${unknown.toUpperCase()}` }],
    ['a key with a tail', { authorization: `Bearer ${unknown}0` }],
    ['a key and a second word', { authorization: `Bearer ${unknown} ${unknown}` }],
    ['a comma list', { authorization: `Bearer ${unknown}, Bearer ${unknown}` }],
    ['an operator as text', { authorization: 'Bearer {"$ne":null}' }],
    ['undefined', { authorization: 'Bearer undefined' }],
    ['null', { authorization: 'Bearer null' }],
    ['a very long token', { authorization: `Bearer ${'a'.repeat(8_000)}` }],
    ['the internal token while it is off (T47)', { authorization: 'Bearer internal-anything' }],
    ['internal-undefined (T47)', { authorization: 'Bearer internal-undefined' }],
    ['internal- alone (T47)', { authorization: 'Bearer internal-' }],
  ])('answers one and the same text to %s', async (_what, headers: Record<string, string>) => {
    const answer = await post({ headers: { 'X-Approver-Email': 'person@example.com', ...headers } })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    expect(answer.body).toEqual({
      error: 'invalid or missing API key',
      message: 'Send `Authorization: Bearer <API key>` with a key that has not been revoked.',
    })
  })

  it('refuses a revoked key at once, while another key of the account goes on working (rotation)', async () => {
    const old = await newCaller(service)
    const fresh = await newCaller(service, { user: old.user })
    expect((await old.create({ action: 'x' })).status).toBe(201)
    expect((await fresh.create({ action: 'x' })).status).toBe(201)
    await revokeApiKey(service.composition.deps, old.keyId, old.user.account_id, { kind: 'cli' })
    const refused = await old.create({ action: 'x' })
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid or missing API key'])
    expect((await fresh.create({ action: 'x' })).status).toBe(201)
  })

  it('never takes a session for a key', async () => {
    const { user } = await newCaller(service)
    const answer = await post({ token: await signIn(service, user) })
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
  })

  it('T52: stores no raw key, only a keyed hash that another pepper does not reproduce', async () => {
    const caller = await newCaller(service)
    const document = await stored(service, 'api_keys').findOne({ _id: caller.keyId })
    expect(document?.key_hash).toMatch(/^[0-9a-f]{64}$/)
    expect(document?.key_prefix).toBe(caller.token.slice(0, 14))
    for (const { name } of (await service.composition.connection.db?.listCollections().toArray()) ?? []) {
      const all = JSON.stringify(await stored(service, name).find({}).toArray())
      expect(all).not.toContain(caller.token)
    }
    const other = await startService({ env: { API_KEY_PEPPER: randomBytes(32).toString('base64') } })
    try {
      expect(other.composition.deps.vault.hash('api-key', caller.token)).not.toBe(document?.key_hash)
    } finally {
      await other.close()
    }
  })

  it('T62: the store itself takes nothing but a hash, so that an absent value can never match a document', async () => {
    const { apiKeys } = service.composition.deps
    for (const odd of ['', 'undefined', 'F'.repeat(64), `${'0'.repeat(64)}\n`])
      await expect(apiKeys.findActiveByHash(odd)).rejects.toThrow('not a key hash')
  })

  it('comes before the body is looked at', async () => {
    const answer = await post({ raw: 'not json', headers: { 'content-type': 'text/plain' } })
    expect(answer.status).toBe(401)
  })
})

describe('403', () => {
  it.each([[['approval:read']], [['approval:verify']], [['approval:read', 'approval:verify']]] as const)(
    'T57: refuses a key with %o only, naming the scope it lacks',
    async (scopes) => {
      const caller = await newCaller(service, { scopes: [...scopes] })
      const answer = await caller.create({ action: 'x' })
      expect(answer.status).toBe(403)
      expect(answer.body).toEqual({
        error: 'insufficient_scope',
        message: expect.any(String),
        scope: 'approval:create',
      })
    },
  )

  it('T57: takes the type of a key from the store, never from its prefix', async () => {
    const caller = await newCaller(service)
    await stored(service, 'api_keys').updateOne({ _id: caller.keyId }, { $set: { sandbox: true } })
    expect(caller.token).toMatch(/^sa_live_/)
    expect((await caller.create({ action: 'x' })).body).toMatchObject({ sandbox: true })
  })
})

describe('400 of an API key that names an approver (T47)', () => {
  it.each(['person@example.com', 'nobody@example.com', '', '{"$ne":null}'])('refuses %o', async (email) => {
    const caller = await newCaller(service)
    const answer = await caller.create({ action: 'x' }, { 'X-Approver-Email': email })
    expect([answer.status, answer.body.error]).toEqual([400, 'approver_email_not_allowed'])
    expect(await stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })).toBe(0)
  })
})

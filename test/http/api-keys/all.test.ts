import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isWellFormedApiKey } from '../../../src/domain/api-key.ts'
import { internalKeyOf } from '../../../src/flow/keys/manage-api-keys.ts'
import { newCaller, send, signIn, stored } from '../../support/caller.ts'
import { addKey, addPerson } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/api-keys'

let service: TestService
let email = 0
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

async function owner() {
  email += 1
  const user = await addPerson(service, `owner-${email}@example.com`)
  const token = await signIn(service, user)
  const post = (json: unknown) => send(service, PATH, { method: 'POST', token, json })
  const list = async () => Array.from(Object((await send(service, PATH, { token })).body.data), Object)
  const revoke = (id: string) => send(service, `${PATH}/${id}`, { method: 'DELETE', token })
  return { user, token, post, list, revoke }
}

describe('201', () => {
  it('answers raw_key and key; the key works at once, with all three scopes', async () => {
    const { user, post } = await owner()
    const { status, body, headers } = await post({ name: ' Deploy bot ', sandbox: false })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      raw_key: expect.stringMatching(/^sa_live_[0-9A-Za-z]{49}$/),
      key: {
        id: expect.stringMatching(/^key_[0-9a-hjkmnp-tv-z]{26}$/),
        name: 'Deploy bot',
        key_prefix: String(body.raw_key).slice(0, 14),
        sandbox: false,
        scopes: ['approval:create', 'approval:read', 'approval:verify'],
        source_control: false,
        policy: null,
        created_at: expect.any(String),
        last_used_at: null,
        revoked_at: null,
      },
    })
    expect(isWellFormedApiKey(String(body.raw_key))).toBe(true)
    const json = { action: 'x' }
    const token = String(body.raw_key)
    const made = await send(service, '/api/v1/approvals/request', { method: 'POST', token, json })
    expect(made.status).toBe(201)
    const request = await stored(service, 'requests').findOne({ _id: String(made.body.id) })
    expect(request).toMatchObject({ account_id: user.account_id, requested_by: { key_name: 'Deploy bot' } })
  })

  it('makes an sa_test_ key with sandbox: true', async () => {
    const { post } = await owner()
    const { body } = await post({ name: 'Dry run', sandbox: true })
    expect(body).toMatchObject({
      raw_key: expect.stringMatching(/^sa_test_[0-9A-Za-z]{49}$/),
      key: { sandbox: true },
    })
  })

  it('shows the raw key this once and never again', async () => {
    const { post, list } = await owner()
    const raw = String((await post({ name: 'a' })).body.raw_key)
    const shown = JSON.stringify(await list())
    expect(shown).not.toContain(raw)
    for (const field of ['key_hash', 'raw_key', 'secret', 'audit', 'outbox'])
      expect(shown).not.toContain(field)
  })

  it('T58: ignores everything else that is posted', async () => {
    const { user, post } = await owner()
    const forged = {
      id: 'key_x',
      key_hash: 'f'.repeat(64),
      account_id: 'acc_x',
      internal: true,
      secret_version: 9,
    }
    const { body } = await post({ name: 'a', ...forged, revoked_at: null, last_used_at: '2020-01-01' })
    expect(body.ignored_fields).toEqual([...Object.keys(forged), 'revoked_at', 'last_used_at'].sort())
    const document = await stored(service, 'api_keys').findOne({ _id: Object(body.key).id })
    expect(document).toMatchObject({ account_id: user.account_id, secret_version: 1, last_used_at: null })
    expect(document).not.toHaveProperty('internal')
  })

  it('T58: refuses a policy, or the key would be wider than was meant, and makes none', async () => {
    const { post, list } = await owner()
    const before = await list()
    for (const policy of [{ quorum: 2 }, { approvers: ['usr_x'] }, { policy: {} }, { high_impact: true }]) {
      const { status, body } = await post({ name: 'a', ...policy })
      expect([status, body]).toEqual([
        400,
        {
          error: 'invalid_field',
          message: expect.any(String),
          field: Object.keys(policy)[0],
          detail: 'cannot be set when the key is made; PATCH the key with a `policy` afterwards',
        },
      ])
    }
    expect(await list()).toEqual(before)
  })

  it.each([
    [{ sanbox: true }, 'sanbox', 'sandbox'],
    [{ dry_run: true }, 'dry_run', 'sandbox'],
    [{ scope: ['approval:read'] }, 'scope', 'scopes'],
  ])('T58: refuses %j, or the key could do more than was meant', async (slip, field, right) => {
    const { post, list } = await owner()
    const { status, body } = await post({ name: 'a', ...slip })
    expect([status, body.error, body.field, body.detail]).toEqual([
      400,
      'invalid_field',
      field,
      `is not known; send \`${right}\``,
    ])
    expect(await list()).toEqual([])
  })

  it('takes narrower scopes', async () => {
    const { post } = await owner()
    const { body } = await post({ name: 'a', scopes: ['approval:read', 'approval:read'] })
    expect(Object(body.key).scopes).toEqual(['approval:read'])
  })
})

describe('400', () => {
  it.each([{}, { name: '' }, { name: '   ' }, { sandbox: true }])(
    'says `name required` to %o',
    async (json) => {
      const { post } = await owner()
      const { status, body } = await post(json)
      expect([status, body.error]).toEqual([400, 'name required'])
    },
  )

  it.each([
    ['name', { name: 5 }],
    ['name', { name: 'x'.repeat(81) }],
    ['name', { name: 'two\nlines' }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: { $ne: null } }],
    ['sandbox', { name: 'a', sandbox: 'true' }],
    ['sandbox', { name: 'a', sandbox: null }],
    ['scopes', { name: 'a', scopes: [] }],
    ['scopes.0', { name: 'a', scopes: ['approval:decide'] }],
    ['scopes', { name: 'a', scopes: 'approval:read' }],
  ])('refuses %s in %o', async (field, json) => {
    const { post } = await owner()
    const { status, body } = await post(json)
    expect([status, body.error, body.field]).toEqual([400, 'invalid_field', field])
  })
})

describe('200', () => {
  it("lists the owner's keys, oldest first, in the shape of every list", async () => {
    const { token, post } = await owner()
    await post({ name: 'one' })
    await post({ name: 'two', sandbox: true })
    const { status, body } = await send(service, PATH, { token })
    expect(status).toBe(200)
    expect(body).toMatchObject({ data: [{ name: 'one' }, { name: 'two', sandbox: true }], next_cursor: null })
  })

  it('revokes at once and for ever; the list keeps the key with its time', async () => {
    const { post, list, revoke } = await owner()
    const { body } = await post({ name: 'a' })
    const id = String(Object(body.key).id)
    const revoked = await revoke(id)
    expect(revoked.status).toBe(200)
    expect(revoked.body).toMatchObject({ ok: true, key: { id, revoked_at: expect.any(String) } })
    const token = String(body.raw_key)
    const used = await send(service, '/api/v1/approvals', { token })
    expect([used.status, used.body.error]).toEqual([401, 'invalid or missing API key'])
    expect(await list()).toMatchObject([{ id, revoked_at: expect.any(String) }])
    const again = await revoke(id)
    expect([again.status, again.body.error]).toEqual([404, 'not_found'])
  })

  it('notes when a key was last used', async () => {
    const { user, list } = await owner()
    const caller = await newCaller(service, { user })
    await caller.send('/api/v1/approvals')
    await expect.poll(async () => (await list())[0]?.last_used_at).toEqual(expect.any(String))
  })

  it('leaves key.created and key.revoked in trail and outbox', async () => {
    const { user, post, revoke } = await owner()
    const id = String(Object((await post({ name: 'a' })).body.key).id)
    await revoke(id)
    const document = await stored(service, 'api_keys').findOne({ _id: id })
    const actor = { kind: 'user', id: user.id, address: '127.0.0.1' }
    expect(document?.audit).toMatchObject([
      { type: 'key.created', subject: id, actor },
      { type: 'key.revoked', subject: id, actor },
    ])
    expect(document?.outbox).toMatchObject([{ type: 'key.created' }, { type: 'key.revoked' }])
  })
})

describe('409', () => {
  it('refuses a 101st key that is not revoked, also of parallel calls; the internal pseudo-key and other accounts do not count', async () => {
    const { user, post, list, revoke } = await owner()
    const { deps } = service.composition
    await internalKeyOf(deps, user.account_id)
    const made: Awaited<ReturnType<typeof addKey>>[] = []
    // As many at a time as the store has connections: on a busy machine the rest would wait in vain.
    while (made.length < 96)
      made.push(...(await Promise.all(Array.from({ length: 32 }, () => addKey(service, user)))))
    const last = await Promise.all(Array.from({ length: 12 }, () => post({ name: 'the last four' })))
    expect(last.filter(({ status }) => status === 201)).toHaveLength(4)
    expect(last.filter(({ body }) => body.error === 'key_limit')).toHaveLength(8)
    const refused = await post({ name: 'one too many' })
    expect(refused.status).toBe(409)
    expect(refused.body).toEqual({
      error: 'key_limit',
      message: 'The account has reached the limit of 100 API keys; revoke one first.',
    })
    await expect(addKey(service, user)).rejects.toMatchObject({ code: 'key_limit' })
    expect(await list()).toHaveLength(100)
    expect((await (await owner()).post({ name: 'elsewhere' })).status).toBe(201)
    expect((await revoke(String(made[0]?.id))).status).toBe(200)
    expect((await post({ name: 'in its place' })).status).toBe(201)
    expect((await post({ name: 'one too many' })).body.error).toBe('key_limit')
  })
})

describe('404 and 401', () => {
  it("T55: cannot revoke another account's key, nor find out about it", async () => {
    const mine = await owner()
    const theirs = await newCaller(service)
    const foreign = await mine.revoke(theirs.keyId)
    const unknown = await mine.revoke('key_00000000000000000000000000')
    const malformed = await mine.revoke('%7B%22%24ne%22%3Anull%7D')
    expect([foreign.status, unknown.status, malformed.status]).toEqual([404, 404, 404])
    expect(foreign.text).toBe(unknown.text)
    expect(malformed.text).toBe(unknown.text)
    expect((await theirs.send('/api/v1/approvals')).status).toBe(200)
    expect(await mine.list()).toEqual([])
  })

  it('a key must not make, list or revoke keys', async () => {
    const caller = await newCaller(service)
    for (const [method, path] of [
      ['POST', PATH],
      ['GET', PATH],
      ['DELETE', `${PATH}/${caller.keyId}`],
    ] as const) {
      const answer = await caller.send(path, { method, ...(method === 'POST' && { json: { name: 'a' } }) })
      expect(answer.status).toBe(401)
      const detail = expect.stringContaining('no API key')
      expect(answer.body).toEqual({ error: 'not_signed_in', message: expect.any(String), detail })
    }
  })
})

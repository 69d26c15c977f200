import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { type Begun, begin, consent, consentPath, setStored, stored } from '../../support/bootstraps.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  enrolWithTotp,
  expectStatus,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let later = 0
let count = 0
let owner: EnrolledPerson
let begun: Begun
let path: string
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, localTime: () => Date.now() + later })
})
afterAll(() => service.close())
beforeEach(async () => {
  count += 1
  owner = await enrolWithPasskey(service, `owner${count}@example.com`)
  begun = await begin(service, owner.email)
  path = await consentPath(service, begun)
})

function start(said: object) {
  return owner.browser.post(`${path}/decision/options`, said)
}

async function statusNow() {
  return (await stored(service, begun.secret)).status
}

describe('the consent to a bootstrap', () => {
  it('shows the owner everything but the matching code, and lists what waits', async () => {
    const list = expectStatus(await owner.browser.get('/api/v1/account/bootstrap'), 200)
    expect(list).toMatchObject({ data: [{ client_name: 'Release agent' }], next_cursor: null })
    const one = await owner.browser.get(path)
    expect(one.body).toEqual({
      ...list.data[0],
      status: 'pending',
      server_time: expect.any(String),
      tries_left: 3,
      methods: ['passkey'],
    })
    const { code, secret_hash } = await stored(service, begun.secret)
    for (const hidden of [code, begun.code, secret_hash, begun.secret])
      expect(JSON.stringify([list, one.body])).not.toContain(hidden)
    await consent(service, owner, begun)
    expect((await owner.browser.get('/api/v1/account/bootstrap')).body.data).toEqual([])
  })

  it('is nobody else’s: others get 404 on every route, strangers 401, forged pages 403', async () => {
    const other = await enrolWithPasskey(service, `other${count}@example.com`)
    const said = { decision: 'approved', code: begun.code }
    const answers = [
      await other.browser.get(path),
      await other.browser.post(`${path}/decision/options`, said),
      await other.browser.post(`${path}/decision`, { ...said, totp: '123456' }),
      await owner.browser.get('/api/v1/account/bootstrap/bst_00000000000000000000000000'),
      await owner.browser.get(`/api/v1/account/bootstrap/${begun.secret}`),
    ]
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual(Array(5).fill([404, 'not_found']))
    expect((await other.browser.get('/api/v1/account/bootstrap')).body.data).toEqual([])
    const stranger = createHttpClient(service.url)
    expect((await stranger.get(path)).body.error).toBe('not_signed_in')
    const forged = await owner.browser.post(`${path}/decision`, said, { origin: 'https://evil.example' })
    expect([forged.status, forged.body.error]).toEqual([403, 'csrf_refused'])
    expect(await statusNow()).toBe('pending')
  })

  it('cannot be given by an API key', async () => {
    const { deps } = service.composition
    const user = await deps.users.find(owner.userId)
    const input = { accountId: user?.account_id ?? '', name: 'key', sandbox: false }
    const { raw_key } = await createApiKey(deps, input, { kind: 'cli' })
    const headers = { Authorization: `Bearer ${raw_key}` }
    const answer = await createHttpClient(service.url).post(
      `${path}/decision`,
      { decision: 'approved', code: begun.code, totp: '123456' },
      { headers },
    )
    expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
  })

  it('states what is consented to, and the challenge commits to it', async () => {
    const { intent, options } = expectStatus(
      await start({ decision: 'approved', code: begun.code.toLowerCase() }),
      200,
    )
    const bootstrap = await stored(service, begun.secret)
    const user = await service.composition.deps.users.find(owner.userId)
    expect(intent).toEqual({
      typ: 'human-approval/bootstrap/v1',
      aud: service.url,
      bst: bootstrap.id,
      decision: 'approved',
      approver: user?.approver,
      client_name: 'Release agent',
      scopes: 'approval:create approval:read',
      code: begun.code.replace('-', ''),
      requested_at: bootstrap.created_at.toISOString(),
      exp: Math.floor(bootstrap.expires_at.getTime() / 1000),
      salt: expect.stringMatching(/^[\w-]{43}$/),
    })
    expectStatus(await consent(service, owner, begun), 200)
    const given = (await stored(service, begun.secret)).consent
    expect(given).toMatchObject({ decision: 'approved', method: 'passkey', user_id: owner.userId })
    expect(given?.evidence).toMatchObject({ type: 'passkey', client_data_json: expect.any(String) })
    expect(options.userVerification).toBe('required')
  })

  it('needs the code for an approval, and a slip of the finger costs no try', async () => {
    const missing = await start({ decision: 'approved' })
    expect([missing.status, missing.body.error]).toEqual([400, 'code required'])
    for (const slip of ['BDWP', 'BDWP-HQP1', 'AEIOUAEI', 'x'.repeat(64)]) {
      const answer = await start({ decision: 'approved', code: slip })
      expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', 'code'])
    }
    expect((await stored(service, begun.secret)).wrong_codes).toBe(0)
  })

  it('T48: a wrong code is refused, the third one rejects, wherever it is typed', async () => {
    const wrong = begun.code.startsWith('B') ? 'CCCC-CCCC' : 'BBBB-BBBB'
    const first = await start({ decision: 'approved', code: wrong })
    expect(first.status).toBe(403)
    expect(first.body).toMatchObject({
      error: 'wrong_matching_code',
      field: 'code',
      status: 'pending',
      detail: expect.stringContaining('You have 2 more tries'),
    })
    const second = await owner.browser.post(`${path}/decision`, {
      decision: 'approved',
      code: wrong,
      totp: '123456',
    })
    // Who has no codes is told so before a try is counted.
    expect(second.body.error).toBe('method_not_enrolled')
    expect((await start({ decision: 'approved', code: wrong })).body.detail).toContain('one more try')
    const third = await start({ decision: 'approved', code: wrong })
    expect(third.body).toMatchObject({ error: 'wrong_matching_code', status: 'rejected' })
    const late = await start({ decision: 'approved', code: begun.code })
    expect([late.status, late.body.error, late.body.status]).toEqual([409, 'not_pending', 'rejected'])
    const rejected = await stored(service, begun.secret)
    expect(rejected.audit.at(-1)).toMatchObject({ type: 'bootstrap.rejected', detail: { wrong_codes: 3 } })
  })

  it('T48: 20 wrong codes at once count as three, and none of them opens anything', async () => {
    const wrong = begun.code.startsWith('B') ? 'CCCC-CCCC' : 'BBBB-BBBB'
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => start({ decision: 'approved', code: wrong })),
    )
    const codes = answers.map(({ body }) => body.error)
    expect(codes.filter((code) => code === 'wrong_matching_code')).toHaveLength(3)
    expect(codes.filter((code) => code === 'not_pending')).toHaveLength(17)
    expect(await stored(service, begun.secret)).toMatchObject({ status: 'rejected', wrong_codes: 3 })
  })

  it('is given with a one-time code as well, which counts once', async () => {
    const person = await enrolWithTotp(service, `totp${count}@example.com`)
    const asked = await begin(service, person.email)
    later += 60_000
    const totp = codeAt(person.secret, service.composition.deps.clock.now())
    const at = await consentPath(service, asked)
    const said = { decision: 'approved', code: asked.code, totp }
    expect((await person.browser.post(`${at}/decision`, said)).body).toMatchObject({ status: 'approved' })
    const next = await begin(service, person.email)
    const again = { decision: 'approved', code: next.code, totp }
    const replayed = await person.browser.post(`${await consentPath(service, next)}/decision`, again)
    expect([replayed.status, replayed.body.error]).toEqual([403, 'totp_refused'])
  })

  it('refuses a proof that was given for the other outcome or for another request, and uses it up', async () => {
    const { options } = expectStatus(await start({ decision: 'rejected' }), 200)
    const passkey = assertWith(owner, service, options)
    const flipped = { decision: 'approved', code: begun.code, passkey }
    for (let tries = 0; tries < 2; tries += 1) {
      const answer = await owner.browser.post(`${path}/decision`, flipped)
      expect([answer.status, answer.body.error]).toEqual([400, 'challenge_invalid'])
    }
    const used = await owner.browser.post(`${path}/decision`, { decision: 'rejected', passkey })
    expect(used.body.error).toBe('challenge_invalid')
    const other = await begin(service, owner.email)
    const mine = expectStatus(await start({ decision: 'approved', code: begun.code }), 200)
    const moved = await owner.browser.post(`${await consentPath(service, other)}/decision`, {
      decision: 'approved',
      code: other.code,
      passkey: assertWith(owner, service, mine.options),
    })
    expect([moved.status, moved.body.error]).toEqual([400, 'challenge_invalid'])
    const none = await owner.browser.post(`${path}/decision`, { decision: 'rejected' })
    expect([none.status, none.body.error]).toEqual([403, 'proof_required'])
    expect(await statusNow()).toBe('pending')
  })

  it('is given once, by the first of two tabs that answer at the same moment', async () => {
    const approve = { decision: 'approved', code: begun.code }
    const tabs = [approve, { decision: 'rejected' }, approve, { decision: 'rejected' }]
    const proven = []
    for (const said of tabs) {
      const { options } = expectStatus(await start(said), 200)
      proven.push({ ...said, passkey: assertWith(owner, service, options) })
    }
    const answers = await Promise.all(proven.map((said) => owner.browser.post(`${path}/decision`, said)))
    const done = answers.filter(({ status }) => status === 200)
    expect(done).toHaveLength(1)
    expect(done[0]?.body.status).toBe(await statusNow())
    const { audit } = await stored(service, begun.secret)
    expect(audit.filter(({ type }) => /approved|rejected/.test(type))).toHaveLength(1)
  })

  it('comes too late when the time is up, by the database’s clock, although everything was proved', async () => {
    const said = { decision: 'approved', code: begun.code }
    const { options } = expectStatus(await start(said), 200)
    const passkey = assertWith(owner, service, options)
    const { settle } = service.composition.deps.bootstraps
    service.composition.deps.bootstraps.settle = async (...args) => {
      await setStored(service, begun.secret, { expires_at: new Date(Date.now() - 1_000) })
      return settle(...args)
    }
    const late = await owner.browser.post(`${path}/decision`, { ...said, passkey })
    service.composition.deps.bootstraps.settle = settle
    expect([late.status, late.body.error, late.body.status]).toEqual([409, 'not_pending', 'expired'])
    expect(await stored(service, begun.secret)).not.toHaveProperty('key_id')
  })

  it('is refused while the account has as many keys as it may have', async () => {
    const { countLive } = service.composition.deps.apiKeys
    service.composition.deps.apiKeys.countLive = async () => 100
    const answer = await start({ decision: 'approved', code: begun.code })
    service.composition.deps.apiKeys.countLive = countLive
    expect([answer.status, answer.body.error]).toEqual([409, 'key_limit'])
  })
})

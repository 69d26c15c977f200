import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { decodeProtectedHeader, type JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'
import { giveToken } from '../../../src/flow/audit/approval-token.ts'
import { signApprovalToken } from '../../../src/signing/approval-token.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { KeyRing } from '../../../src/signing/keys.ts'
import { parseProof } from '../../../src/signing/log/checkpoint.ts'
import { alter, newCaller, send } from '../../support/caller.ts'
import { codeAt, enrolWithTotp, expectStatus } from '../../support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, keyOf, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const aud = 'https://gateway.example.com'
const action = 'Pay $120.00 to ACME Corp'
const tool_arguments = { to: 'ACME', amount: 120 }
const context = { tool: 'payments.create', tool_arguments }

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService({ work: true })
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

async function approved(fields: object = {}): Promise<string> {
  const id = await ask(setting, { action, context, audience: aud, ...fields })
  expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
  return id
}

async function post(id: string, verb: 'token' | 'consume', body: object = {}, key = setting.key) {
  const answer = await callWithKey(service, key, `/${id}/${verb}`, body)
  return { status: answer.status, body: Object(await answer.json()) }
}

async function tokenOf(id: string, body: object = {}): Promise<string> {
  const answer = await post(id, 'token', body)
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.token
}

const jwks = async () => Object((await send(service, '/.well-known/jwks.json')).body)

const [, LINES = ''] =
  /^```js\n([\s\S]*?)^```$/m.exec(readFileSync(packagePath('docs/receipts.md'), 'utf8')) ?? []
const JOSE = pathToFileURL(createRequire(import.meta.url).resolve('jose')).href

/** The lines of docs/receipts.md for a gateway. */
const gateway: {
  readToken(token: string, on: { keys: object[]; service: string; gateway: string }): Promise<JWTPayload>
} = await import(`data:text/javascript,${encodeURIComponent(LINES.replace("'jose'", `'${JOSE}'`))}`)

async function check(token: string) {
  return gateway.readToken(token, { ...(await jwks()), service: service.url, gateway: aud })
}

/** Where the bundle of that decision proves it to be. */
async function placeOf(id: string) {
  const answer = await callWithKey(service, setting.key, `/${id}/receipt?log=logged&timeout=20`)
  const { index, checkpoint } = parseProof(JSON.parse(await answer.text()).log.proof)
  return { origin: checkpoint.split('\n')[0], index }
}

async function refuses(id: string, status: number, error: string, body: object = {}, key?: string) {
  const answer = await post(id, 'token', body, key)
  expect([answer.status, answer.body.error]).toEqual([status, error])
  return answer.body
}

describe('T99: POST /api/v1/approvals/:id/token', () => {
  it('gives a JWT of what was approved, by whom and for whom, signed by a key for nothing else', async () => {
    const id = await approved()
    const given = await post(id, 'token', { action, context })
    const payload = await check(given.body.token)
    const request = await service.composition.deps.requests.find(id)
    const vote = request?.votes[0]
    const { iat = 0, exp = 0 } = payload
    expect(given).toEqual({
      status: 200,
      body: {
        request_id: id,
        decision_id: request?.decision?.id,
        token: expect.any(String),
        expires_at: new Date(exp * 1000).toISOString(),
      },
    })
    expect(payload).toEqual({
      iss: service.url,
      aud,
      sub: vote?.approver,
      jti: request?.decision?.id,
      txn: id,
      iat,
      exp: iat + 300,
      authorization_details: [
        {
          type: 'countersign:action',
          action,
          context_sha256: sha256(canonicalize(context)),
          tool: 'payments.create',
          arguments_sha256: sha256(canonicalize(tool_arguments)),
        },
      ],
      act: { sub: request?.api_key_id },
      acr: 'phr',
      intent_sha256: sha256(vote?.intent_json ?? ''),
      receipt_sha256: sha256(canonicalize(vote?.receipt)),
      log: await placeOf(id),
    })
    expect(JSON.parse(vote?.intent_json ?? '')).toMatchObject({ audience: aud, decision: 'approved' })
    const { kid } = decodeProtectedHeader(given.body.token)
    const { keys } = await jwks()
    expect(keys.filter((key: { kid: string }) => key.kid === kid)).toMatchObject([{ purpose: 'token' }])
  })

  it('uses the approval up: repeats give the same token until it expires, and consume excludes it both ways', async () => {
    const [first, second] = [await approved(), await approved()]
    const all = await Promise.all([1, 2, 3, 4].map(() => post(first, 'token', { action })))
    expect(new Set(all.map(({ status, body }) => `${status} ${body.token}`)).size).toBe(1)
    const used = await post(first, 'consume')
    expect([used.status, used.body.error]).toEqual([409, 'already_consumed'])
    const { deps } = service.composition
    await expect
      .poll(() => deps.trail.list({ subject: first, type: 'approval.consumed', limit: 9 }))
      .toMatchObject([{ entry: { detail: { token: true } } }])
    await deps.keys.rotate('token', deps.clock.now(), { kind: 'cli' })
    expect(await tokenOf(first)).toBe(all[0]?.body.token)
    await refuses(first, 409, 'mismatch', { action: 'Pay $1.00' })
    await alter(service, 'requests', first, { consumed_at: new Date(Date.now() - 301_000) })
    await refuses(first, 409, 'already_consumed')
    expect((await post(second, 'consume')).status).toBe(200)
    await refuses(second, 409, 'already_consumed')
  })

  it('never outlives the request, nor the time in which the approval can be used', async () => {
    const [brief, lapsed, late] = [
      await approved({ use_within_seconds: 60 }),
      await approved(),
      await approved(),
    ]
    const { iat = 0, exp = 0 } = await check(await tokenOf(brief))
    expect(exp - iat).toBeLessThanOrEqual(60)
    await alter(service, 'requests', late, { expires_at: new Date(Date.now() + 90_000) })
    const { exp: end = 0 } = await check(await tokenOf(late))
    expect(end * 1000).toBeLessThanOrEqual(Date.now() + 90_000)
    await alter(service, 'requests', lapsed, { expires_at: new Date(Date.now() + 500) })
    await refuses(lapsed, 409, 'approval_lapsed')
    // Its request is over, and yet it can be consumed, as ever.
    expect((await post(lapsed, 'consume')).status).toBe(200)
  })

  it('is given for an approval by a person alone, that names an audience, to the key that asked', async () => {
    const pending = await ask(setting, { audience: aud })
    const rejected = await ask(setting, { audience: aud })
    expectStatus(await decideByPasskey(setting, rejected, 'rejected'), 200)
    const expired = await ask(setting, { audience: aud })
    await alter(service, 'requests', expired, { expires_at: new Date(Date.now() - 1_000) })
    for (const id of [pending, rejected, expired]) await refuses(id, 409, 'not_approved')
    await refuses(await approved({ audience: undefined }), 409, 'token_needs_audience')
    const other = await keyOf(service, setting.owner.userId)
    const good = await approved()
    await refuses(good, 404, 'not_found', {}, other)
    await refuses(good, 409, 'mismatch', { context: { ...context, more: 1 } })
    await refuses(good, 400, 'invalid_field', { actoin: action })
    expect((await service.composition.deps.requests.find(good))?.consumed_at).toBeUndefined()
    const sandbox = await newCaller(service, { sandbox: true })
    const asked = { action, audience: aud, sandbox_auto_decide_seconds: 0 }
    const dry = String(Object((await sandbox.create(asked)).body).id)
    await sandbox.read(dry)
    const path = `/api/v1/approvals/${dry}/token`
    expect((await sandbox.send(path, { method: 'POST' })).body).toMatchObject({ error: 'sandbox_approval' })
  })

  it('waits for no log that is stopped, nor long for a trail that is behind', async () => {
    const id = await approved()
    const { deps } = service.composition
    const key = await deps.apiKeys.find((await deps.requests.find(id))?.api_key_id ?? '')
    if (key === undefined) throw new Error('no key')
    const caller = { key, scopes: key.scopes, address: '127.0.0.1' }
    const head = await deps.logs.current()
    const stopped = { ...deps.logs, current: async () => head && { ...head, rolled_back_at: new Date() } }
    const silent = { ...deps.trail, list: async () => [] }
    let now = 0
    const clock = { now: () => deps.clock.now(), steady: () => (now += 1_000) }
    for (const missing of [
      { ...deps, logs: stopped },
      { ...deps, trail: silent, clock },
    ])
      expect(await check((await giveToken(missing, caller, id, {})).token)).not.toHaveProperty('log')
    expect(await check(await tokenOf(id))).toHaveProperty('log')
  })

  it('uses nothing up where no key can sign the token', async () => {
    const id = await approved()
    const { deps } = service.composition
    const key = await deps.apiKeys.find((await deps.requests.find(id))?.api_key_id ?? '')
    if (key === undefined) throw new Error('no key')
    const keys = { ...deps.keys, ring: () => new KeyRing([]) }
    const given = giveToken({ ...deps, keys }, { key, scopes: key.scopes, address: '127.0.0.1' }, id, {})
    await expect(given).rejects.toThrow('no key can sign for token')
    expect((await deps.requests.find(id))?.consumed_at).toBeUndefined()
  })

  it('says when a code proved presence, which a relay site could have got', async () => {
    const person = await enrolWithTotp(service, 'codes@example.com')
    const key = await keyOf(service, person.userId)
    const id = await ask({ service, key }, { audience: aud })
    await alter(service, 'users', person.userId, { 'totp.last_step': 0 })
    const totp = codeAt(person.secret, service.composition.deps.clock.now())
    const path = `/api/v1/approvals/${id}/decision`
    expectStatus(await person.browser.post(path, { decision: 'approved', totp }), 200)
    const { body } = await post(id, 'token', {}, key)
    expect(await check(body.token)).toMatchObject({ acr: 'otp' })
  })
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Tokens with what a gateway must say to each. */
async function cases() {
  const { keys } = await jwks()
  const id = await approved()
  const token = await tokenOf(id)
  const [head = '', body = '', signature = ''] = token.split('.')
  const header = JSON.parse(Buffer.from(head, 'base64url').toString())
  const payload = JSON.parse(Buffer.from(body, 'base64url').toString())
  const key = service.composition.deps.keys.ring().active('token', new Date())
  if (key === undefined) throw new Error('no key')
  const now = Math.floor(Date.now() / 1000)
  const signed = (claims: object) => signApprovalToken({ ...payload, ...claims }, key)
  const plain = { token, iss: service.url, aud, keys }
  const bad = {
    'another audience': { ...plain, aud: 'https://other.example.com' },
    'another issuer': { ...plain, iss: 'https://other.example.com' },
    'another body': {
      ...plain,
      token: `${head}.${part({ ...payload, act: { sub: 'key_x' } })}.${signature}`,
    },
    'no signature': { ...plain, token: `${part({ ...header, alg: 'none' })}.${body}.` },
    'another algorithm': { ...plain, token: `${part({ ...header, alg: 'HS256' })}.${body}.${signature}` },
    'another type': { ...plain, token: `${part({ ...header, typ: 'JWT' })}.${body}.${signature}` },
    expired: { ...plain, token: signed({ iat: now - 400, exp: now - 100 }) },
    'two audiences': { ...plain, token: signed({ aud: [aud, 'https://other.example.com'] }) },
    'a session': { ...plain, token: setting.owner.token },
    'an unknown key': { ...plain, keys: keys.filter((key: { kid: string }) => key.kid !== header.kid) },
    'a key for receipts': {
      ...plain,
      keys: keys.map((key: object) => ({ ...key, purpose: 'decision' })),
    },
  }
  const good = `${payload.jti} ${payload.intent_sha256}`
  return { all: [plain, ...Object.values(bad)], verdicts: [good, ...Object.keys(bad).map(() => 'refused')] }
}

/** Runs a judge, which is a library that others wrote and a few lines around it. */
async function ruling(program: string, args: readonly string[], given: object): Promise<unknown> {
  const out = await new Promise<string>((resolve, reject) => {
    const child = execFile(program, [...args], { timeout: 60_000 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
    child.stdin?.end(JSON.stringify(given))
  })
  return JSON.parse(out)
}

const JUDGES: [library: string, program: string | undefined, args: string[]][] = [
  ['PyJWT', process.env.COUNTERSIGN_PYTHON, [packagePath('test/judges/approval_token.py')]],
  ['golang-jwt', process.env.TOKEN_JUDGE, []],
]

it('is judged so by the lines of the documents, too', async () => {
  const { all, verdicts } = await cases()
  const said = all.map(({ token, keys, iss, aud }) =>
    gateway.readToken(token, { keys, service: iss, gateway: aud }).then(
      ({ jti, intent_sha256 }) => `${jti} ${intent_sha256}`,
      () => 'refused',
    ),
  )
  expect(await Promise.all(said)).toEqual(verdicts)
})

describe.each(JUDGES)('%s, as a gateway', (_library, program = '', args) => {
  it.skipIf(program === '')('accepts the token and refuses every other', async () => {
    const { all, verdicts } = await cases()
    expect(await ruling(program, args, all)).toEqual(verdicts)
  })
})

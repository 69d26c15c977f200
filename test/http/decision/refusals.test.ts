import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RefusalCode, refusal } from '../../../src/domain/errors.ts'
import { begin, consentPath } from '../../support/bootstraps.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  enrolWithTotp,
  expectStatus,
  passkeyProof,
} from '../../support/enrolled.ts'
import type { Answer } from '../../support/http-client.ts'
import { createHttpClient } from '../../support/http-client.ts'
import {
  ask,
  callWithKey,
  decideByPasskey,
  keyOf,
  type LiveSetting,
  proofFor,
  setUpOwner,
} from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'
import type { AssertionCeremony } from '../../support/soft-authenticator.ts'

let service: TestService
let setting: LiveSetting
let stranger: EnrolledPerson

beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
  stranger = await enrolWithPasskey(service, 'stranger@example.com')
})
afterAll(() => service.close())

const post = (id: string, body: unknown, browser = setting.owner.browser) =>
  browser.post(`/api/v1/approvals/${id}/decision`, body)

function expectRefusal(answer: Answer, code: RefusalCode, details: object = {}): void {
  const { status, publicMessage: message } = refusal(code, details)
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { error: code, message, ...details },
  })
}

async function stillPending(id: string): Promise<void> {
  const stored = await service.composition.deps.requests.find(id)
  expect({ status: stored?.status, votes: stored?.votes.length }).toEqual({ status: 'pending', votes: 0 })
}

describe('who may decide', () => {
  it('T12: nobody without a session, neither options nor decision nor review', async () => {
    const id = await ask(setting)
    const nobody = createHttpClient(service.url)
    expectRefusal(await nobody.get(`/api/v1/approvals/${id}/review`), 'not_signed_in')
    expectRefusal(
      await nobody.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'approved' }),
      'not_signed_in',
    )
    expectRefusal(await post(id, { decision: 'approved' }, nobody), 'not_signed_in')
    await stillPending(id)
  })

  it('T57: never an API key, even with all scopes', async () => {
    const id = await ask(setting)
    const response = await callWithKey(service, setting.key, `/${id}/decision`, {
      decision: 'approved',
      totp: '123456',
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: 'not_signed_in' })
    await stillPending(id)
  })

  it('T55: answers a stranger as if the request did not exist', async () => {
    const id = await ask(setting)
    const unknown = `req_${'0'.repeat(26)}`
    for (const target of [id, unknown, 'req_x', '%24ne']) {
      expectRefusal(await stranger.browser.get(`/api/v1/approvals/${target}/review`), 'not_found')
      const options = await stranger.browser.post(`/api/v1/approvals/${target}/decision/options`, {
        decision: 'approved',
      })
      expectRefusal(options, 'not_found')
    }
    await stillPending(id)
  })

  it('T20: of approvers, credentials and requests only the matching three decide', async () => {
    const other = { service, owner: stranger, key: await keyOf(service, stranger.userId) }
    const parties = [setting, other]
    for (const session of parties) {
      for (const signer of parties) {
        for (const asked of parties) {
          const id = await ask(asked)
          const ready = asked === session
          const started = await session.owner.browser.post(`/api/v1/approvals/${id}/decision/options`, {
            decision: 'approved',
          })
          expect(started.status).toBe(ready ? 200 : 404)
          if (!ready) continue
          const credential = signer.owner.authenticator.credentials[0]
          const passkey = assertWith(signer.owner, service, started.body.options, {
            ...(credential && { credential }),
          })
          const answer = await post(id, { decision: 'approved', passkey }, session.owner.browser)
          if (signer === session) expect(answer.status).toBe(200)
          else {
            expectRefusal(answer, 'passkey_refused')
            await stillPending(id)
          }
        }
      }
    }
  })
})

describe('the subject of the proof', () => {
  it('T16: an assertion for one request decides no other', async () => {
    const [first, second] = [await ask(setting), await ask(setting, { action: 'Delete everything' })]
    const passkey = await proofFor(setting, first, 'approved')
    expectRefusal(await post(second, { decision: 'approved', passkey }), 'challenge_invalid')
    await stillPending(second)
    await stillPending(first)
  })

  it('T16: an assertion for approval cannot be posted as a rejection, or the reverse', async () => {
    for (const [shown, posted] of [
      ['approved', 'rejected'],
      ['rejected', 'approved'],
    ] as const) {
      const id = await ask(setting)
      const passkey = await proofFor(setting, id, shown)
      expectRefusal(await post(id, { decision: posted, passkey }), 'challenge_invalid')
      await stillPending(id)
    }
  })

  it('T33: an assertion drawn in one session decides in no other of the same person', async () => {
    const id = await ask(setting)
    const { owner } = setting
    const other = createHttpClient(service.url)
    const { options } = expectStatus(await other.post('/api/v1/session/passkey/options', {}), 200)
    const credential = assertWith(owner, service, options)
    expectStatus(await other.post('/api/v1/session/passkey', { credential }), 200)
    const passkey = await proofFor(setting, id, 'approved')
    expectRefusal(await post(id, { decision: 'approved', passkey }, other), 'challenge_invalid')
    await stillPending(id)
    const begun = await begin(service, owner.email)
    const path = await consentPath(service, begun)
    const said = { decision: 'approved', code: begun.code }
    const drawn = expectStatus(await owner.browser.post(`${path}/decision/options`, said), 200)
    const consented = { ...said, passkey: assertWith(owner, service, drawn.options) }
    expectRefusal(await other.post(`${path}/decision`, consented), 'challenge_invalid')
    const { status } = expectStatus(await owner.browser.get(path), 200)
    expect(status).toBe('pending')
  })

  it('T19: neither a sign-in nor a step-up assertion decides', async () => {
    const id = await ask(setting)
    const signIn = expectStatus(await setting.owner.browser.post('/api/v1/session/passkey/options', {}), 200)
    const login = assertWith(setting.owner, service, signIn.options)
    expectRefusal(await post(id, { decision: 'approved', passkey: login }), 'challenge_invalid')
    const stepUp = await passkeyProof(setting.owner, service, 'totp.add')
    expectRefusal(await post(id, { decision: 'approved', ...stepUp }), 'challenge_invalid')
    await stillPending(id)
  })

  it('T19: a decision assertion signs nobody in', async () => {
    const passkey = await proofFor(setting, await ask(setting), 'approved')
    const answer = await createHttpClient(service.url).post('/api/v1/session/passkey', {
      credential: passkey,
    })
    expectRefusal(answer, 'challenge_invalid')
  })

  it('T33: the same assertion twice in parallel counts once', async () => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved')
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(id, { decision: 'approved', passkey })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(['challenge_invalid', 'not_pending']).toContain(answer.body.error)
    }
  })

  it('T15: an assertion made on another origin is refused, also when it names ours in the rpId', async () => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved', { origin: 'https://countersign.evil.example' })
    expectRefusal(await post(id, { decision: 'approved', passkey }), 'passkey_refused')
    await stillPending(id)
  })

  it('T21, T31: refuses cross-origin frames and assertions without presence or verification', async () => {
    const tricks = [
      { crossOrigin: true },
      { topOrigin: 'https://evil.example' },
      { flags: 0x00 },
      { flags: 0x01 },
      { flags: 0x04 },
    ]
    for (const trick of tricks) {
      const id = await ask(setting)
      const passkey = await proofFor(setting, id, 'approved', trick)
      expectRefusal(await post(id, { decision: 'approved', passkey }), 'passkey_refused')
      await stillPending(id)
    }
  })
})

describe('T35: evidence that another verifier would refuse', () => {
  const der = (change: (made: Uint8Array) => (number | Uint8Array)[]) => ({
    tamper: (made: Uint8Array) =>
      Buffer.concat(change(made).map((part) => (typeof part === 'number' ? Buffer.from([part]) : part))),
  })
  const client = (change: (json: string) => string) => ({ clientData: change })
  const leading = (member: string) => client((json) => json.replace('{', `{${member},`))

  it.each<[string, Partial<AssertionCeremony>]>([
    ['a length in its long form', der((made) => [0x30, 0x81, made.subarray(1)])],
    ['a length of two bytes', der((made) => [0x30, 0x82, 0, made.subarray(1)])],
    ['bytes behind the signature', der((made) => [made, 5, 0])],
    ['a third element', der((made) => [0x30, (made[1] ?? 0) + 2, made.subarray(2), 5, 0])],
    [
      'a padded integer',
      der((made) => [0x30, (made[1] ?? 0) + 1, 2, (made[3] ?? 0) + 1, 0, made.subarray(4)]),
    ],
    ['another origin first', leading('"origin":"https://evil.example"')],
    ['another type first, escaped', leading('"\\u0074ype":"webauthn.create"')],
    ['another challenge first', leading('"challenge":"AAAA"')],
    ['another origin in capitals', leading('"ORIGIN":"https://evil.example"')],
    ['a frame in another spelling', leading('"cro\\u017f\\u017fOrigin":true')],
    ['twins inside a member', leading('"more":[{"a":{"b":1},"a":2}]')],
    ['a byte order mark', client((json) => `\ufeff${json}`)],
  ])('is no vote: %s', async (_name, trick) => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved', trick)
    expectRefusal(await post(id, { decision: 'approved', passkey }), 'passkey_refused')
    await stillPending(id)
  })

  it.each<[string, Partial<AssertionCeremony>]>([
    [
      'members that browsers add',
      leading('"other_keys_can_be_added_here":"{\\"type\\": [}","more":{"type":1}'),
    ],
    [
      'blanks and escapes that JSON allows',
      client((json) => json.replace('{', ' { ').replaceAll('/', '\\/')),
    ],
  ])('is a vote in spite of %s', async (_name, ceremony) => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved', ceremony)
    expect((await post(id, { decision: 'approved', passkey })).status).toBe(200)
  })
})

describe('how it may be decided', () => {
  it('refuses both proofs, none, and ill-formed ones', async () => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved')
    expect((await post(id, { decision: 'approved', passkey, totp: '123456' })).body).toMatchObject({
      error: 'invalid_field',
      field: 'passkey',
    })
    expectRefusal(await post(id, { decision: 'approved' }), 'proof_required')
    expect((await post(id, { decision: 'maybe', passkey })).body).toMatchObject({
      error: 'invalid_field',
      field: 'decision',
    })
    expect((await post(id, { passkey })).body).toMatchObject({
      error: 'decision required',
      field: 'decision',
    })
    const long = await post(id, { decision: 'approved', comment: 'x'.repeat(1001), passkey })
    expect(long.body).toMatchObject({ error: 'invalid_field', field: 'comment' })
    for (const reason of ['', 7, 'x'.repeat(81), 'a\u0007'])
      expect((await post(id, { decision: 'rejected', reason, passkey })).body).toMatchObject({
        error: 'invalid_field',
        field: 'reason',
      })
    expect((await post(id, { decision: 'approved', reason: 'Not now', passkey })).body).toMatchObject({
      error: 'invalid_field',
      field: 'reason',
      detail: 'goes only with a rejection',
    })
    const full = { decision: 'rejected', reason: 'Not now', comment: 'x'.repeat(995), passkey }
    expect((await post(id, full)).body).toMatchObject({ error: 'invalid_field', field: 'comment' })
    await stillPending(id)
  })

  it('asks a person with a passkey to use it on high-impact requests, and says so', async () => {
    const both = await personWithBoth('both@example.com')
    const id = await ask(both.setting, { context: { source: 'github' } })
    const totp = codeAt(both.secret, service.composition.deps.clock.now())
    expectRefusal(
      await post(id, { decision: 'approved', totp }, both.setting.owner.browser),
      'passkey_required',
    )
    await stillPending(id)
    const review = expectStatus(await both.setting.owner.browser.get(`/api/v1/approvals/${id}/review`), 200)
    expect(review).toMatchObject({ high_impact: true, methods: ['passkey'], may_decide: true })
  })

  it('refuses a method the person has not enrolled', async () => {
    const id = await ask(setting)
    expectRefusal(await post(id, { decision: 'approved', totp: '123456' }), 'method_not_enrolled')
  })

  it('T25: a code that signed in or decided before does not decide again', async () => {
    const person = await enrolWithTotp(service, 'replay@example.com')
    const id = await ask({ service, key: await keyOf(service, person.userId) })
    // The step that enrolling burnt, not the current one: half a minute may just have passed.
    const burnt = (await service.composition.deps.users.find(person.userId))?.totp?.last_step ?? 0
    const totp = codeAt(person.secret, new Date(burnt * 30_000))
    expectRefusal(await post(id, { decision: 'approved', totp }, person.browser), 'totp_refused')
    await stillPending(id)
  })

  it('T27: after the lock of codes a passkey still decides', async () => {
    const both = await personWithBoth('locked@example.com')
    const id = await ask(both.setting)
    const users = service.composition.connection.collection<{ _id: string }>('users')
    const until = new Date(service.composition.deps.clock.now().getTime() + 900_000)
    await users.updateOne({ _id: both.setting.owner.userId }, { $set: { 'totp.locked_until': until } })
    const refused = await post(id, { decision: 'approved', totp: '000000' }, both.setting.owner.browser)
    const { retry_after } = refused.body
    expect(retry_after).toBeCloseTo(900, -2)
    expectRefusal(refused, 'totp_locked', { retry_after })
    expect((await decideByPasskey(both.setting, id, 'approved')).status).toBe(200)
  })
})

describe('when it may be decided', () => {
  it('refuses a second decision with the state it found', async () => {
    const id = await ask(setting)
    await decideByPasskey(setting, id, 'approved')
    expectRefusal(
      await setting.owner.browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'rejected' }),
      'not_pending',
      { status: 'approved' },
    )
  })

  it('refuses after the expiry, which the database judges, even with a proof taken before', async () => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved')
    const requests = service.composition.connection.collection<{ _id: string }>('requests')
    await requests.updateOne({ _id: id }, { $set: { expires_at: new Date(Date.now() - 1_000) } })
    expectRefusal(await post(id, { decision: 'approved', passkey }), 'not_pending', { status: 'expired' })
    const stored = await service.composition.deps.requests.find(id)
    expect(stored).toMatchObject({ status: 'expired', votes: [] })
    expect(stored?.decision ?? null).toBeNull()
    expect(stored?.callback ?? null).toBeNull()
  })
})

async function personWithBoth(email: string): Promise<{ setting: LiveSetting; secret: string }> {
  const own = await setUpOwner(service, email)
  const proof = await passkeyProof(own.owner, service, 'totp.add')
  const { secret } = expectStatus(await own.owner.browser.post('/api/v1/me/totp/options', { proof }), 200)
  const code = codeAt(secret, service.composition.deps.clock.now())
  expectStatus(await own.owner.browser.post('/api/v1/me/totp', { code }), 201)
  return { setting: own, secret }
}

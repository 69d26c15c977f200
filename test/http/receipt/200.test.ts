import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Bundle } from '../../../src/domain/bundle.ts'
import { bundleReceipt } from '../../../src/flow/audit/bundle-receipt.ts'
import { createRetention } from '../../../src/flow/erase/retention.ts'
import { authenticateApiKey } from '../../../src/flow/keys/authenticate-caller.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { sha256Hex } from '../../../src/signing/digest.ts'
import type { VerificationKey } from '../../../src/signing/key-record.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { cosignatureBytes } from '../../../src/signing/log/note.ts'
import { parsePolicy, type TrustPolicy } from '../../../src/signing/log/policy.ts'
import { type BundleOptions, verifyBundle } from '../../../src/signing/verify-bundle.ts'
import { approve, decideBatch, nameApprovers } from '../../support/batches.ts'
import { alter, decidedId, lapse, newCaller, send } from '../../support/caller.ts'
import { codeAt, enrolWithPasskey, enrolWithTotp, expectStatus } from '../../support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, keyOf, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { asMembers } from '../../support/members.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
let keys: VerificationKey[]

beforeAll(async () => {
  service = await startService({ work: true })
  setting = await setUpOwner(service)
  keys = parseJwks((await send(service, '/.well-known/jwks.json')).body)
})
afterAll(() => service.close())

async function bundleOf(id: string, key = setting.key, query = ''): Promise<string> {
  const response = await callWithKey(service, key, `/${id}/receipt${query}`)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.countersign.receipt+json; charset=utf-8',
  ])
  return response.text()
}

/** What a person who may read the request is told. */
const proofOf = async (id: string) =>
  expectStatus(await setting.owner.browser.get(`/api/v1/approvals/${id}/proof`), 200)

/** Verifies a bundle, and says which checks were passed. */
async function judged(text: string, options: BundleOptions = {}, policy?: TrustPolicy) {
  const { verdict, checks, votes, message } = await verifyBundle(text, { keys, policy }, options)
  const passed = checks.filter(({ outcome }) => outcome === 'passed').map(({ check }) => check)
  return { verdict, message, passed, proofs: votes.map(({ proof }) => proof) }
}

const RECEIPT = ['shape', 'receipt', 'intent', 'context']
const PASSKEY = [...RECEIPT, 'challenge', 'origin', 'rp_id', 'presence', 'assertion', 'votes']

describe('GET /api/v1/approvals/:id/receipt', () => {
  it('holds what a person signed with their own passkey, as RFC 8785 text', async () => {
    const id = await ask(setting, { context: { tool: 'shell', ü: [1, null] } })
    await decideByPasskey(setting, id, 'approved', 'not signed')
    const text = await bundleOf(id)
    expect(canonicalize(JSON.parse(text))).toBe(text)
    expect(Object.keys(JSON.parse(text))).toEqual(['context', 'format', 'intent', 'passkey', 'receipt'])
    expect(Object.keys(JSON.parse(text).passkey)).toEqual(['authenticator_data', 'key', 'signature'])
    expect(await judged(text)).toEqual({
      verdict: 'good',
      message: undefined,
      passed: PASSKEY,
      proofs: ['passkey'],
    })
    const expected = { expected: { rid: id }, service: service.url }
    expect((await judged(text, expected)).passed).toContain('expected')
    for (const other of [{ service: 'https://other.example' }, { audience: 'x' }, { account: 'acc_x' }])
      expect(await judged(text, other)).toMatchObject({ verdict: 'bad', passed: ['shape'] })
  })

  it.each([-7, -8, -257] as const)('verifies a passkey of the COSE algorithm %i', async (algorithm) => {
    const owner = await enrolWithPasskey(service, `alg${-algorithm}@example.com`, { algorithm })
    const theirs = { service, owner, key: await keyOf(service, owner.userId) }
    const id = await ask(theirs)
    await decideByPasskey(theirs, id, 'rejected')
    expect(await judged(await bundleOf(id, theirs.key))).toMatchObject({ verdict: 'good', passed: PASSKEY })
  })

  it('says of a code that the service alone checked it', async () => {
    const owner = await enrolWithTotp(service, 'codes@example.com')
    const key = await keyOf(service, owner.userId)
    const id = await ask({ service, key })
    // Enrolling used up the code of this time.
    await alter(service, 'users', owner.userId, { 'totp.last_step': 0 })
    const totp = codeAt(owner.secret, new Date())
    const path = `/api/v1/approvals/${id}/decision`
    expectStatus(await owner.browser.post(path, { decision: 'approved', totp }), 200)
    const text = await bundleOf(id, key)
    expect(JSON.parse(text).totp).toEqual({ checked_by: 'service' })
    const found = { verdict: 'good', passed: [...RECEIPT, 'votes'], proofs: ['service'] }
    expect(await judged(text)).toMatchObject(found)
  })

  it('has neither for the sandbox', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const text = await bundleOf(await decidedId(service, caller), caller.token)
    expect(Object.keys(JSON.parse(text))).toEqual(['context', 'format', 'intent', 'receipt'])
    expect(await judged(text)).toMatchObject({ verdict: 'bad', passed: ['shape'] })
    expect(await judged(text, { allowSandbox: true })).toMatchObject({ verdict: 'good', proofs: ['service'] })
  })

  it('has every vote of several, of one gesture as well', async () => {
    const owner = await enrolWithPasskey(service, 'first@example.com')
    const second = await enrolWithPasskey(service, 'second@example.com')
    const rule = { approvers: [owner.userId, second.userId], quorum: 2 }
    await nameApprovers(service, owner.userId, rule)
    const key = await keyOf(service, owner.userId)
    const [id, other] = [await ask({ service, key }), await ask({ service, key })]
    await decideByPasskey({ service, owner }, id, 'approved')
    expectStatus(await decideBatch(service, second, approve(id, other)), 200)
    const bundle: Bundle = JSON.parse(await bundleOf(id, key))
    expect(bundle.passkey?.batch).toContain(other)
    const text = canonicalize(bundle)
    expect(await judged(text)).toMatchObject({
      verdict: 'good',
      passed: PASSKEY,
      proofs: ['passkey', 'passkey'],
    })

    const { votes: [vote] = [], ...alone } = bundle
    const few = { verdict: 'bad', message: expect.stringContaining('requires 2 approvals; only 1 came') }
    expect(await judged(canonicalize(alone))).toMatchObject(few)
    // The same person twice, and another request of the same gesture.
    expect(await judged(canonicalize({ ...bundle, votes: [alone] }))).toMatchObject({ verdict: 'bad' })
    await decideByPasskey({ service, owner }, other, 'approved')
    const another: Bundle = JSON.parse(await bundleOf(other, key))
    const [theirs] = another.votes ?? []
    expect(theirs?.passkey?.batch).toBe(bundle.passkey?.batch)
    const swapped = { ...vote, passkey: theirs?.passkey }
    expect(await judged(canonicalize({ ...bundle, votes: [swapped] }))).toMatchObject({
      verdict: 'bad',
      message: 'The passkey signed something other than this intent.',
    })
  })
})

describe('with its place in the log', () => {
  const trust = async () => {
    const { vkey } = (await send(service, '/.well-known/countersign-log')).body
    return parsePolicy(`log ${vkey}\nquorum none\n`)
  }

  it('waits until the decision, with all its votes, is in a checkpoint', async () => {
    const id = await ask(setting)
    await decideByPasskey(setting, id, 'approved')
    const logged = [...PASSKEY, 'inclusion', 'checkpoint']
    const enrolled = logged.toSpliced(-1, 0, 'enrolment')
    const text = await bundleOf(id, setting.key, '?log=logged')
    expect(await judged(text, {}, await trust())).toMatchObject({ verdict: 'good', passed: logged })
    const { index, size, bundle, ...shown } = await proofOf(id)
    expect(shown).toEqual({ log: 'logged', origin: expect.any(String), witnesses: [], awaited: [] })
    expect(index).toBeLessThan(size)
    expect((await judged(bundle, { enrolment: true }, await trust())).passed).toEqual(enrolled)

    const owner = await enrolWithPasskey(service, 'one@example.com')
    const second = await enrolWithPasskey(service, 'two@example.com')
    await nameApprovers(service, owner.userId, { approvers: [owner.userId, second.userId], quorum: 2 })
    const key = await keyOf(service, owner.userId)
    const both = await ask({ service, key })
    for (const who of [owner, second]) await decideByPasskey({ service, owner: who }, both, 'approved')
    const several: Bundle = JSON.parse(await bundleOf(both, key, '?log=logged&enrolment=1&timeout=20'))
    expect(await judged(canonicalize(several), { enrolment: true }, await trust())).toMatchObject({
      verdict: 'good',
      passed: enrolled,
    })
    const [vote] = several.votes ?? []
    const { receipt, intent, passkey, enrolment } = several
    const partly = { ...several, votes: [{ ...vote, enrolment: undefined }] }
    const half = JSON.stringify(partly)
    expect(await judged(canonicalize(JSON.parse(half)), { enrolment: true }, await trust())).toMatchObject({
      verdict: 'unmet',
    })
    const exchanged = { ...several, enrolment: vote?.enrolment, votes: [{ ...vote, enrolment }] }
    expect(await judged(canonicalize(exchanged), {}, await trust())).toMatchObject({
      verdict: 'bad',
      message: 'The registration of a passkey does not hold: it is of another passkey.',
    })
    const unlike = { ...several, ...vote, votes: [{ receipt, intent, passkey, enrolment }] }
    expect(await judged(canonicalize(unlike))).toMatchObject({
      verdict: 'bad',
      message: 'The proof of the log does not hold: the decision is not in the tree of its checkpoint.',
    })

    // AUDIT_RETENTION_DAYS: of the records only hashes are left.
    const { deps } = service.composition
    const retention = { days: undefined, whole: false, auditDays: 1e-9 }
    const retain = createRetention({ ...deps, settings: { ...deps.settings, retention } })
    for (let next = await retain(); next !== undefined; ) next = await retain()
    expect(await deps.trail.list({ subject: id, limit: 1 })).toEqual([])
    expect(JSON.parse(await bundleOf(id, setting.key, '?log=logged')).log.record).toBe(
      JSON.parse(text).log.record,
    )
    const later = await bundleOf(both, key, '?log=logged')
    expect(await judged(later, {}, await trust())).toMatchObject({ verdict: 'good', passed: logged })
  })

  it('has the registration of the passkey, of a delegate too, and once that and its record are gone', async () => {
    const owner = await enrolWithPasskey(service, 'registers@example.com', {
      model: '01020304-0506-0708-0102-030405060708',
      format: 'packed',
    })
    const key = await keyOf(service, owner.userId)
    const { trail, users } = service.composition.deps
    const [own, standIn] = [await users.find(owner.userId), await enrolWithPasskey(service, 'in@example.com')]
    const { account_id = '', version = 0 } = own ?? {}
    await alter(service, 'accounts', account_id, { members: asMembers([standIn.userId]) })
    const delegate = { user_id: standIn.userId, starts_at: new Date(0), ends_at: new Date('2100-01-01') }
    await users.change(owner.userId, version, { delegate }, [])
    const query = '?log=logged&enrolment=1&timeout=20'
    const theirs = await ask({ service, key })
    await decideByPasskey({ service, owner: standIn }, theirs, 'approved')
    const acted = await bundleOf(theirs, key, query)
    const { enrolment, intent } = JSON.parse(acted)
    expect(enrolment.subject.approver).toBe(JSON.parse(intent).delegate)
    expect(await judged(acted, { enrolment: true }, await trust())).toMatchObject({ verdict: 'good' })

    const id = await ask({ service, key })
    await decideByPasskey({ service, owner }, id, 'approved')
    const text = await bundleOf(id, key, query)
    const { approver } = JSON.parse(JSON.parse(text).intent)
    expect(JSON.parse(text).enrolment.subject).toEqual({
      aaguid: '01020304-0506-0708-0102-030405060708',
      approver,
      attestation: 'packed',
      credential_id: owner.authenticator.credentials[0]?.id,
      public_key: JSON.parse(text).passkey.key,
    })
    expect(JSON.parse(await bundleOf(id, key, '?log=logged'))).not.toHaveProperty('enrolment')

    // An authenticator that spells its key as verifiers do not read it: better none than one that they refuse.
    const spelt = await ask({ service, key })
    await decideByPasskey({ service, owner }, spelt, 'approved')
    const records = service.composition.connection.collection('audit_log')
    const { subject } = JSON.parse(text).enrolment
    const cose = Buffer.from(subject.public_key, 'base64url')
    const parts = [cose.subarray(0, 1), cose.subarray(3, 5), cose.subarray(1, 3), cose.subarray(5)]
    const public_key = Buffer.concat(parts).toString('base64url')
    await alter(service, 'requests', spelt, { 'votes.0.evidence.public_key': public_key })
    const registered = { 'entry.type': 'factor.passkey_added', 'entry.subject': owner.userId }
    const named = (hash: string) =>
      records.updateOne(registered, { $set: { 'entry.detail.subject_sha256': hash } })
    const hash = sha256Hex(canonicalize(subject))
    await named(sha256Hex(canonicalize({ ...subject, public_key })))
    expect(await judged(await bundleOf(spelt, key, query), {}, await trust())).toMatchObject({
      verdict: 'good',
      passed: expect.not.arrayContaining(['enrolment']),
    })
    await named(hash)

    await alter(service, 'users', owner.userId, { passkeys: [] })
    const about = { subject: owner.userId, type: 'factor.passkey_added', limit: 1 } as const
    const [record] = await trail.list(about)
    const { seq = 0, entry } = record ?? {}
    const subject_sha256 = String(entry?.detail?.subject_sha256)
    await trail.erase([{ seq, subject_sha256 }])
    expect(await trail.list(about)).toEqual([])
    expect(await judged(await bundleOf(id, key, query), { enrolment: true }, await trust())).toMatchObject({
      verdict: 'good',
      passed: expect.arrayContaining(['enrolment']),
    })
    // As records from before the log have none.
    const erased = { subject_sha256: Buffer.from(subject_sha256, 'hex') }
    const { modifiedCount } = await records.updateOne(erased, { $unset: { subject_sha256: 1 } })
    expect(modifiedCount).toBe(1)
    // Nor does a registration count that came after the decision.
    const later = { ...registered, 'entry.detail.subject_sha256': hash }
    await records.updateOne({ 'entry.subject': spelt, 'entry.type': 'approval.approved' }, { $set: later })
    expect(await trail.list(about)).toHaveLength(1)
    const without = await bundleOf(id, key, query)
    expect(JSON.parse(without)).not.toHaveProperty('enrolment')
    expect(await judged(without, { enrolment: true }, await trust())).toMatchObject({
      verdict: 'unmet',
      message: expect.stringContaining('its passkey is the approver’s'),
    })
  })

  it('503 until a witness signed it, too, when the time is over; 409 for a decision from before the log', async () => {
    const id = await ask(setting)
    await decideByPasskey(setting, id, 'approved')
    const { deps } = service.composition
    const credential = { token: setting.key, email: undefined, address: '127.0.0.1' }
    const caller = await authenticateApiKey({ ...deps, internalTokenHash: undefined }, credential)
    const { signal } = new AbortController()
    const wish = { log: 'witnessed', enrolment: false, ms: 900, signal } as const
    let looks = 0
    const list: typeof deps.trail.list = (query) => {
      looks += 1
      return deps.trail.list(query)
    }
    const [late] = await Promise.all([
      callWithKey(service, setting.key, `/${id}/receipt?log=witnessed&timeout=1`),
      expect(
        bundleReceipt({ ...deps, trail: { ...deps.trail, list } }, caller, id, wish),
      ).rejects.toMatchObject({ code: 'not_logged' }),
    ])
    // Only a log that moves is looked at again.
    expect(looks).toBeLessThan(4)
    const revokedAmong: typeof deps.apiKeys.revokedAmong = async (ids) => [...ids]
    const revoked = { ...deps, apiKeys: { ...deps.apiKeys, revokedAmong } }
    await expect(bundleReceipt(revoked, caller, id, wish), 'T54').rejects.toMatchObject({
      code: 'invalid or missing API key',
    })
    expect([late.status, late.headers.get('retry-after'), await late.json()]).toEqual([
      503,
      '2',
      {
        error: 'not_logged',
        status: 'witnessed',
        retry_after: 2,
        message:
          'The decision is not witnessed yet; ask again in 2 seconds, or take the receipt without a place in the log (`log=none`).',
      },
    ])
    // As the round of the witnesses leaves it.
    const heads = service.composition.connection.collection('log_head')
    const head = await heads.findOne({})
    const signature = Buffer.concat([Buffer.alloc(4, 1), cosignatureBytes(1_800_000_000, Buffer.alloc(64))])
    const line = `— witness.example.org ${signature.toString('base64')}\n`
    const cosigned = {
      cosigned_note: `${head?.note}${line}`,
      cosigned_size: head?.size,
    }
    await heads.updateOne({}, { $set: cosigned })
    const seen = await bundleOf(id, setting.key, '?log=witnessed&enrolment=1&timeout=1')
    expect(JSON.parse(seen).log.proof).toContain(line)
    expect((await judged(seen, {}, await trust())).passed).toContain('checkpoint')
    expect(await proofOf(id)).toMatchObject({
      log: 'witnessed',
      witnesses: [{ name: 'witness.example.org', at: '2027-01-15T08:00:00.000Z' }],
      bundle: seen,
    })

    const records = service.composition.connection.collection('audit_log')
    const $unset = { 'entry.detail.subject_sha256': 1 as const }
    await records.updateOne({ 'entry.subject': id, 'entry.type': 'approval.approved' }, { $unset })
    const old = await callWithKey(service, setting.key, `/${id}/receipt?log=logged`)
    expect([old.status, Object(await old.json()).error]).toEqual([409, 'before_log'])
    const { bundle, ...shown } = await proofOf(id)
    expect(shown).toEqual({ log: 'before_log', witnesses: [], awaited: [] })
    expect(JSON.parse(bundle)).not.toHaveProperty('log')
    await records.updateMany({ 'entry.subject': id }, { $set: { 'entry.subject': 'req_elsewhere' } })
    expect((await proofOf(id)).log).toBe('waiting')
    await heads.updateOne({}, { $set: { rolled_back_at: new Date() } })
    expect((await proofOf(id)).log).toBe('stopped')
  })
})

describe('nothing to prove', () => {
  it('409 before a decision and without one; 410 once its texts were erased; 400 for another wish', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const look = () => caller.send(`/api/v1/approvals/${id}/receipt`)
    const none = (status: string) => ({
      status: 409,
      body: {
        error: 'no_receipt',
        status,
        message: `Nothing is signed: the status of the request is ${status}.`,
      },
    })
    expect(await look()).toMatchObject(none('pending'))
    await lapse(service, id)
    expect(await look()).toMatchObject(none('expired'))

    const decided = await ask(setting)
    await decideByPasskey(setting, decided, 'approved')
    await alter(service, 'requests', decided, { erased_at: new Date() })
    const gone = await callWithKey(service, setting.key, `/${decided}/receipt`)
    expect([gone.status, Object(await gone.json()).error]).toEqual([410, 'receipt_erased'])
    expect(await proofOf(decided)).not.toHaveProperty('bundle')

    for (const [query, field] of [
      ['log=all', 'log'],
      ['enrolment=1', 'enrolment'],
      ['log=logged&enrolment=true', 'enrolment'],
    ])
      expect(await caller.send(`/api/v1/approvals/${id}/receipt?${query}`)).toMatchObject({
        status: 400,
        body: { error: 'invalid_field', field },
      })
  })
})

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBase64, toBase64Url } from '../../src/signing/base64.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { actionHash } from '../../src/signing/commitment.ts'
import { rawSign } from '../../src/signing/ed25519-node.ts'
import { JwksError, toJwks } from '../../src/signing/jwks.ts'
import type { SigningKey } from '../../src/signing/key-record.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { RECEIPT_CHECKS, type VerifyOptions } from '../../src/signing/receipt-checks.ts'
import { signPayload } from '../../src/signing/sign.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { type Examination, examineJwks, examineReceipt } from '../../src/signing/verify-web.ts'
import { size } from '../support/size.ts'
import { DECIDED_AT, intent, livePayload, sandboxPayload, testKey, vectors } from './fixtures.ts'

const live = testKey('decision', 1)
const sandbox = testKey('decision-sandbox', 2)
const ended = { ...testKey('decision', 3), notAfter: new Date(DECIDED_AT.getTime() - 1000) }
const revoked = { ...testKey('decision', 4), revokedAt: new Date(DECIDED_AT.getTime() + 1000) }
const keys = [live, sandbox, ended, revoked]
const pinned = parseJwks(toJwks(keys))

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex')
const context = { tool: 'psql', rows: 3 }
const statement = canonicalize({ ...intent, context_sha256: sha256(canonicalize(context)) })
const payload = {
  ...livePayload,
  action: actionHash(intent.action),
  nonce: sha256(statement).slice(0, 32),
}
const decided_at = DECIDED_AT.toISOString()

/** A receipt whose checks of `signPayload` are passed over: what somebody with the key could sign. */
function signedBy(key: SigningKey, text = canonicalize(payload)) {
  const data = new TextEncoder().encode(text)
  return {
    canonical_payload: text,
    signature: toBase64(rawSign(data, key.seed)),
    public_key_id: key.kid,
  }
}

function decisionOf(key: SigningKey) {
  const { canonical_payload, ...rest } = signedBy(key)
  return {
    id: payload.did,
    decision: 'approved',
    method: 'passkey',
    approver: payload.approver,
    signed_payload: toBase64Url(new TextEncoder().encode(canonical_payload)),
    ...rest,
    decided_at,
    intent: statement,
  }
}

const request = {
  id: payload.rid,
  status: 'approved',
  action: intent.action,
  context,
  expires_at: new Date(payload.exp * 1000).toISOString(),
  decision: decisionOf(live),
}
const callback = {
  request_id: payload.rid,
  decision: 'approved',
  decided_at,
  signed_receipt: { decision_id: payload.did, ...signedBy(live), comment: null },
}
const answer = {
  valid: true,
  decision: 'approved',
  method: 'passkey',
  public_key: toBase64(live.publicKey),
  public_key_id: live.kid,
  signature: signedBy(live).signature,
  payload,
}
const dryRun = { ...signPayload(sandboxPayload, sandbox), sandbox: true }

/** The examination, after its verdict was found to be that of `verifyReceiptJson`. */
async function examine(json: unknown, options: VerifyOptions = {}): Promise<Examination> {
  const examination = await examineReceipt(json, pinned, options)
  expect(examination.result).toStrictEqual(verifyReceiptJson(json, pinned, options))
  return examination
}

const names = (examination: Examination) => [...examination.outcomes.keys()]

describe('examineReceipt', () => {
  it('lists every check of a whole answer as passed', async () => {
    const { outcomes, failed, result } = await examine(request, { now: DECIDED_AT })
    expect(result).toMatchObject({ valid: true, checked: { action: 'full', context: 'full' } })
    expect(failed).toBeUndefined()
    expect([...outcomes]).toEqual(
      RECEIPT_CHECKS.map((check) => [check, check === 'expected' ? 'absent' : 'passed']),
    )
  })

  it('says which checks had nothing to look at', async () => {
    const { outcomes } = await examine(signedBy(live))
    const absent = [...outcomes].filter(([, outcome]) => outcome === 'absent').map(([check]) => check)
    expect(absent).toEqual(['claims', 'action_hash', 'expected', 'clock', 'intent', 'action', 'context'])
  })

  it.each<[string, unknown, string, VerifyOptions?]>([
    ['no object', 'text', 'form'],
    ['a pending request', { id: payload.rid, status: 'pending' }, 'form'],
    ['a payload that is no base64url', { ...request.decision, signed_payload: '*' }, 'encoding'],
    ['a short signature', { ...signedBy(live), signature: 'AAAA' }, 'encoding'],
    ['an unknown key', { ...signedBy(live), public_key_id: 'x' }, 'key'],
    ['no key', { ...signedBy(live), public_key_id: undefined }, 'key'],
    ['another payload', { ...signedBy(live), canonical_payload: '{}' }, 'signature'],
    ['a signed blank', signedBy(live, `${canonicalize(payload)} `), 'canonical'],
    ['another version', signedBy(live, canonicalize({ ...payload, v: 2 })), 'version'],
    ['a further field', signedBy(live, canonicalize({ ...payload, extra: 1 })), 'fields'],
    ['a decision after the expiry', signedBy(live, canonicalize({ ...payload, exp: 1 })), 'time'],
    ['a sandbox key under a live payload', signedBy(sandbox), 'purpose'],
    ['a key past its end', signedBy(ended), 'validity'],
    ['a dry-run', dryRun, 'sandbox'],
    ['another request around it', { ...request, id: 'req_x' }, 'claims'],
    ['another approver around it', { ...request.decision, approver: 'f'.repeat(16) }, 'claims'],
    ['another action', { ...request, action: 'other' }, 'action_hash'],
    ['another receipt than expected', request, 'expected', { expected: { rid: 'req_x' } }],
    ['a decision from the future', request, 'clock', { now: new Date(0) }],
    ['another intent', { ...request.decision, intent: '{}' }, 'intent'],
    ['an intent that is no text', { ...request.decision, intent: 5 }, 'intent'],
    ['another context', { ...request, context: {} }, 'context'],
  ])('stops at the right check for %s', async (_what, json, check, options) => {
    const { failed, outcomes, result } = await examine(json, options)
    expect(failed).toBe(check)
    expect(result.valid).toBe(false)
    expect(outcomes.has(failed ?? 'form')).toBe(false)
  })

  it('T69: stops at the exact action for a text with the same 64-bit hash', async () => {
    const { a, b } = vectors<{ a: string; b: string }>('action-hash/collision16.json')
    const said = canonicalize({ ...intent, action: a })
    const signed = { ...livePayload, action: actionHash(a), nonce: sha256(said).slice(0, 32) }
    const { canonical_payload, ...rest } = signPayload(signed, live)
    const decision = {
      signed_payload: toBase64Url(new TextEncoder().encode(canonical_payload)),
      ...rest,
      intent: said,
    }
    const { failed, outcomes } = await examine({ action: b, decision })
    expect(failed).toBe('action')
    expect(outcomes.get('action_hash')).toBe('passed')
    expect((await examine({ action: a, decision })).result).toMatchObject({ checked: { action: 'full' } })
  })

  it('keeps what a revoked key signed before, with the time of its revocation', async () => {
    const { result } = await examine(signedBy(revoked))
    expect(result).toMatchObject({ valid: true, keyRevokedAt: revoked.revokedAt })
  })
})

describe('differential: the page and the server give one verdict', () => {
  const samples: object[] = [request, request.decision, callback, callback.signed_receipt, answer, dryRun]
  samples.push(signedBy(ended), signedBy(revoked), signedBy(sandbox))
  const odd = fc.oneof(
    fc.constantFrom<unknown>(null, true, '', 0, {}, [], '\ud800', 'approved', 'rejected', live.kid),
    fc.constantFrom<unknown>(sandbox.kid, statement, context, intent.action, payload),
    fc.jsonValue(),
  )
  const change = fc.record({
    at: fc.nat(),
    how: fc.constantFrom('replace', 'delete', 'letter', 'cut', 'add', 'borrow'),
    odd,
    index: fc.nat(400),
    code: fc.integer({ min: 32, max: 0x2100 }),
  })
  const options = fc.record({
    allowSandbox: fc.boolean(),
    now: fc.constantFrom(undefined, DECIDED_AT, new Date(0), new Date(Number.NaN)),
  })

  it('for receipts changed at random in one to three places', async () => {
    const seen = new Map<string, number>()
    const property = fc.asyncProperty(
      fc.constantFrom(...samples),
      fc.array(change, { maxLength: 3 }),
      options,
      async (sample, changes, chosen) => {
        const json = structuredClone(sample)
        for (const step of changes) alter(json, { ...step, odd: structuredClone(step.odd) })
        const examination = await examine(json, chosen)
        const made = names(examination)
        // Checks are made in one order, and what failed is none of those that passed.
        expect(made).toEqual(RECEIPT_CHECKS.filter((check) => made.includes(check)))
        const verdict = examination.failed ?? 'valid'
        expect(verdict === 'valid').toBe(examination.result.valid)
        seen.set(verdict, (seen.get(verdict) ?? 0) + 1)
      },
    )
    await fc.assert(property, { numRuns: size(300, 1_500) })
    expect([...seen.keys()].sort()).toEqual(
      expect.arrayContaining([
        'claims',
        'encoding',
        'form',
        'intent',
        'key',
        'sandbox',
        'signature',
        'valid',
      ]),
    )
  })

  it('for payloads of any fields, properly signed', async () => {
    const field = fc.constantFrom(...Object.keys(payload), 'sandbox', 'extra')
    await fc.assert(
      fc.asyncProperty(field, odd, fc.constantFrom(...keys), async (name, value, key) => {
        let text: string
        try {
          text = canonicalize({ ...payload, [name]: value })
        } catch {
          return
        }
        await examine(signedBy(key, text), { allowSandbox: true })
      }),
      { numRuns: size(100, 400) },
    )
  })

  type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

  /** Changes one place somewhere in the object, however deep. */
  function alter(json: object, step: Change): void {
    const places = placesIn(json)
    const place = places[step.at % places.length]
    if (place === undefined) return
    const { holder, name } = place
    const value: unknown = Reflect.get(holder, name)
    if (step.how === 'delete') Reflect.deleteProperty(holder, name)
    else if (step.how === 'add')
      Reflect.set(holder, ['intent', 'context', 'sandbox', 'public_key'][step.at % 4] ?? '', step.odd)
    else if (step.how === 'borrow')
      Reflect.set(holder, name, structuredClone(samples[step.index % samples.length]))
    else if (step.how === 'replace' || typeof value !== 'string') Reflect.set(holder, name, step.odd)
    else if (step.how === 'cut') Reflect.set(holder, name, value.slice(0, step.index % (value.length + 1)))
    else {
      const at = step.index % (value.length + 1)
      Reflect.set(holder, name, value.slice(0, at) + String.fromCharCode(step.code) + value.slice(at + 1))
    }
  }

  function placesIn(value: object): { holder: object; name: string }[] {
    return Object.entries(value).flatMap(([name, inner]) => [
      { holder: value, name },
      ...(typeof inner === 'object' && inner !== null ? placesIn(inner) : []),
    ])
  }
})

describe('examineJwks', () => {
  it('reads what parseJwks reads', async () => {
    expect(await examineJwks(toJwks(keys))).toStrictEqual(pinned)
  })

  it.each<[string, (jwks: ReturnType<typeof toJwks>) => unknown]>([
    ['no key set', () => ({})],
    ['a key under another id', ({ keys: [first, second] }) => ({ keys: [{ ...first, kid: second?.kid }] })],
    ['one key twice', ({ keys: [first] }) => ({ keys: [first, first] })],
    ['a private key', ({ keys: [first] }) => ({ keys: [{ ...first, d: 'x' }] })],
    ['the identity as key', ({ keys: [first] }) => ({ keys: [{ ...first, x: `AQ${'A'.repeat(41)}` }] })],
  ])('refuses %s, with the words of parseJwks', async (_what, change) => {
    const json = change(toJwks(keys))
    let said: unknown
    try {
      parseJwks(json)
    } catch (error) {
      said = error
    }
    expect(said).toBeInstanceOf(JwksError)
    await expect(examineJwks(json)).rejects.toEqual(said)
  })
})

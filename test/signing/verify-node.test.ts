import { describe, expect, it } from 'vitest'
import { given } from '../../src/domain/given.ts'
import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { toBase64 } from '../../src/signing/base64.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { nonceOf } from '../../src/signing/commitment.ts'
import { rawSign } from '../../src/signing/ed25519-node.ts'
import { toJwks } from '../../src/signing/jwks.ts'
import type { SigningKey, VerificationKey } from '../../src/signing/key-record.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { RECEIPT_ERRORS, type ReceiptErrorCode } from '../../src/signing/receipt-error.ts'
import { parseReceiptInput } from '../../src/signing/receipt-input.ts'
import { signPayload } from '../../src/signing/sign.ts'
import { verifyReceipt, verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { cautionsAbout, judgeTogether } from '../../src/signing/votes.ts'
import { DECIDED_AT, intent, livePayload, sandboxPayload, testKey } from './fixtures.ts'

const live = testKey('decision', 1)
const sandbox = testKey('decision-sandbox', 2)
const pinned = parseJwks(toJwks([live, sandbox]))
const receipt = signPayload(livePayload, live)
const sandboxReceipt = signPayload(sandboxPayload, sandbox)

/** What somebody with the key could sign: any text, past every check of `signPayload`. */
function signText(text: string | Uint8Array, key: SigningKey = live) {
  const data = typeof text === 'string' ? new TextEncoder().encode(text) : text
  const signature = toBase64(rawSign(data, key.seed))
  return { signed_payload: Buffer.from(data).toString('base64url'), signature, public_key_id: key.kid }
}
const signValue = (value: unknown, key: SigningKey = live) => signText(canonicalize(value), key)

const refusal = (code: ReceiptErrorCode, field?: string) => ({
  valid: false,
  code,
  message: RECEIPT_ERRORS[code],
  ...(field === undefined ? {} : { field }),
})

/** A bare receipt has no action or context next to it. */
const UNCHECKED = { action: 'none', context: 'none' }

describe('verifyReceipt', () => {
  it('returns the payload of a genuine receipt', () => {
    const result = verifyReceipt(parseReceiptInput(receipt), pinned)
    expect(result).toStrictEqual({
      valid: true,
      payload: livePayload,
      kid: live.kid,
      sandbox: false,
      checked: UNCHECKED,
    })
  })

  it('takes the key records of the server as well as a parsed key set', () => {
    expect(verifyReceiptJson(receipt, [live, sandbox])).toMatchObject({ valid: true })
  })

  it('refuses a key that is not pinned', () => {
    expect(verifyReceiptJson(receipt, [])).toStrictEqual(refusal('receipt_key_unknown'))
    expect(verifyReceiptJson(signPayload(livePayload, testKey('decision', 9)), pinned)).toStrictEqual(
      refusal('receipt_key_unknown'),
    )
  })

  it('T71: refuses every change of one byte of payload, signature and key id', () => {
    const fields = ['canonical_payload', 'signature', 'public_key_id'] as const
    for (const field of fields) {
      const text = receipt[field]
      for (let at = 0; at < text.length; at += 1) {
        const flipped = String.fromCharCode(text.charCodeAt(at) ^ 1)
        for (const changed of [
          text.slice(0, at) + flipped + text.slice(at + 1),
          text.slice(0, at) + text.slice(at + 1),
        ]) {
          expect(
            verifyReceiptJson({ ...receipt, [field]: changed }, pinned),
            `${field}[${at}]`,
          ).toMatchObject({ valid: false })
        }
      }
    }
  })

  it('T71: refuses every change of one bit of the signature', () => {
    const input = parseReceiptInput(receipt)
    for (let bit = 0; bit < 512; bit += 1) {
      const signature = Uint8Array.from(input.signature, (byte, at) =>
        at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte,
      )
      expect(verifyReceipt({ ...input, signature }, pinned)).toStrictEqual(
        refusal('receipt_signature_invalid'),
      )
    }
  })

  it('says nothing of the payload before the signature passes', () => {
    const wrong = { ...signText('not even JSON'), signature: receipt.signature }
    expect(verifyReceiptJson(wrong, pinned)).toStrictEqual(refusal('receipt_signature_invalid'))
    const foreign = { ...receipt, canonical_payload: canonicalize({ ...livePayload, v: 2 }) }
    expect(verifyReceiptJson(foreign, pinned)).toStrictEqual(refusal('receipt_signature_invalid'))
  })

  it('refuses a pinned key of small order even if somebody pinned it by hand', () => {
    const identity = Uint8Array.of(1, ...new Uint8Array(31))
    const [key] = pinned
    const signature = toBase64(new Uint8Array([...identity, ...new Uint8Array(32)]))
    const weak: VerificationKey[] = [{ ...(key ?? live), publicKey: identity }]
    expect(verifyReceiptJson({ ...receipt, signature }, weak)).toStrictEqual(
      refusal('receipt_signature_invalid'),
    )
  })
})

describe('T71: one statement has one spelling', () => {
  const canonical = receipt.canonical_payload
  it.each([
    ['a space', canonical.replace(':', ': ')],
    ['another key order', JSON.stringify(livePayload)],
    ['an escaped letter', canonical.replace('approved', '\\u0061pproved')],
    ['a number with a fraction', canonical.replace('"v":1', '"v":1.0')],
    ['a repeated key', canonical.replace('{', '{"action":"0000000000000000",')],
    ['a byte order mark', `\ufeff${canonical}`],
    ['a trailing line break', `${canonical}\n`],
    ['no JSON', 'approved'],
    ['invalid UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
  ])('T71: %s is refused though properly signed', (_name, text) => {
    expect(verifyReceiptJson(signText(text), pinned)).toStrictEqual(refusal('receipt_payload_not_canonical'))
  })

  it.each([
    ['without padding', (text: string) => text.replace('==', ''), 'receipt_signature_malformed'],
    [
      'with left-over bits',
      (text: string) => text.replace(/.==$/, (end) => `${next(end[0])}==`),
      'receipt_signature_malformed',
    ],
    [
      'URL-safe',
      (text: string) => Buffer.from(text, 'base64').toString('base64url'),
      'receipt_signature_malformed',
    ],
    ['hex', (text: string) => Buffer.from(text, 'base64').toString('hex'), 'receipt_signature_malformed'],
    ['with a line break', (text: string) => `${text}\n`, 'receipt_signature_malformed'],
    [
      'with a zero byte more',
      (text: string) => toBase64(Buffer.concat([Buffer.from(text, 'base64'), Buffer.of(0)])),
      'receipt_signature_malformed',
    ],
  ] as const)('T71: a signature spelled %s is refused', (_name, respell, code) => {
    expect(verifyReceiptJson({ ...receipt, signature: respell(receipt.signature) }, pinned)).toStrictEqual(
      refusal(code),
    )
  })

  /** The next letter of the alphabet: the same bytes, but with the unused bits set. */
  function next(letter = ''): string {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    return alphabet.charAt(alphabet.indexOf(letter) + 1)
  }

  it('T71: a padded or standard-alphabet signed_payload is refused', () => {
    const decision = signValue(livePayload)
    for (const signed_payload of [`${decision.signed_payload}=`, `${decision.signed_payload}\n`, '*']) {
      expect(verifyReceiptJson({ ...decision, signed_payload }, pinned)).toStrictEqual(
        refusal('receipt_payload_malformed'),
      )
    }
  })
})

describe('payload format 1', () => {
  it.each<[string, unknown, ReceiptErrorCode, string]>([
    ['another version', { ...livePayload, v: 2 }, 'receipt_version_unsupported', 'v'],
    ['no version', { a: 1 }, 'receipt_version_unsupported', 'v'],
    ['an array', [livePayload], 'receipt_version_unsupported', 'v'],
    ['a further field', { ...livePayload, comment: 'x' }, 'receipt_payload_invalid', 'comment'],
    [
      'a __proto__ field',
      JSON.parse(JSON.stringify(livePayload).replace('{', '{"__proto__":{},')),
      'receipt_payload_invalid',
      '__proto__',
    ],
    [
      'a foreign id',
      { ...livePayload, rid: `dec_${livePayload.rid.slice(4)}` },
      'receipt_payload_invalid',
      'rid',
    ],
    [
      'an upper-case nonce',
      { ...livePayload, nonce: livePayload.nonce.toUpperCase() },
      'receipt_payload_invalid',
      'nonce',
    ],
    [
      'a long action hash',
      { ...livePayload, action: `${livePayload.action}0` },
      'receipt_payload_invalid',
      'action',
    ],
    [
      'an e-mail as approver',
      { ...livePayload, approver: 'a@example.com' },
      'receipt_payload_invalid',
      'approver',
    ],
    ['an expired decision', { ...livePayload, decision: 'expired' }, 'receipt_payload_invalid', 'decision'],
    ['an unknown method', { ...livePayload, method: 'biometric' }, 'receipt_payload_invalid', 'method'],
    ['a text time', { ...livePayload, ts: String(livePayload.ts) }, 'receipt_payload_invalid', 'ts'],
    ['a broken time', { ...livePayload, exp: livePayload.exp + 0.5 }, 'receipt_payload_invalid', 'exp'],
    ['sandbox false', { ...livePayload, sandbox: false }, 'receipt_payload_invalid', 'sandbox'],
    ['sandbox with a live method', { ...livePayload, sandbox: true }, 'receipt_payload_invalid', 'sandbox'],
    [
      'the sandbox method without its mark',
      { ...livePayload, method: 'sandbox' },
      'receipt_payload_invalid',
      'sandbox',
    ],
    [
      'a decision after the expiry',
      { ...livePayload, ts: livePayload.exp + 1 },
      'receipt_time_invalid',
      'ts',
    ],
  ])('refuses %s', (_name, payload, code, field) => {
    expect(verifyReceiptJson(signValue(payload), pinned)).toStrictEqual(refusal(code, field))
  })

  it.each(Object.keys(livePayload).filter((name) => name !== 'v'))('refuses a payload without %s', (name) => {
    const { [name as keyof ReceiptPayload]: _, ...rest } = livePayload
    expect(verifyReceiptJson(signValue(rest), pinned)).toStrictEqual(refusal('receipt_payload_invalid', name))
  })

  it('accepts a decision in the last second', () => {
    const payload = { ...livePayload, ts: livePayload.exp }
    expect(verifyReceiptJson(signValue(payload), pinned)).toMatchObject({ valid: true })
  })
})

it('calls an error of the service, saved in place of a receipt, by its code; beside a receipt it is nothing', () => {
  const check = (json: unknown) => verifyReceiptJson(json, pinned)
  const { result } = judgeTogether({ error: 'not_found', message: 'No such request.' }, check)
  expect(result).toMatchObject({
    valid: false,
    message: expect.stringContaining('not a receipt: not_found.'),
  })
  expect(judgeTogether({ ...receipt, error: 'not_found' }, check).result).toMatchObject({ valid: true })
  expect(judgeTogether({ error: '\u202e' }, check).result).toEqual(check({ error: '\u202e' }))
})

describe('T72: a sandbox receipt never passes as a live one', () => {
  it('T72: verifiers refuse it unless they ask for it', () => {
    expect(verifyReceiptJson(sandboxReceipt, pinned)).toStrictEqual(
      refusal('receipt_sandbox_refused', 'sandbox'),
    )
    expect(verifyReceiptJson(sandboxReceipt, pinned, { allowSandbox: true })).toStrictEqual({
      valid: true,
      payload: sandboxPayload,
      kid: sandbox.kid,
      sandbox: true,
      checked: UNCHECKED,
    })
  })

  it('T72: taking the marks out breaks the signature', () => {
    const { sandbox: _, ...rest } = sandboxPayload
    for (const stripped of [rest, { ...rest, method: 'passkey' }]) {
      const forged = { ...sandboxReceipt, canonical_payload: canonicalize(stripped) }
      expect(verifyReceiptJson(forged, pinned, { allowSandbox: true })).toStrictEqual(
        refusal('receipt_signature_invalid'),
      )
    }
  })

  it('T72: even signed anew, the sandbox key cannot sign a live payload, nor the live key a sandbox one', () => {
    const options = { allowSandbox: true }
    const mismatch = refusal('receipt_key_purpose_mismatch')
    expect(verifyReceiptJson(signValue(livePayload, sandbox), pinned, options)).toStrictEqual(mismatch)
    expect(verifyReceiptJson(signValue(sandboxPayload, live), pinned, options)).toStrictEqual(mismatch)
    const session = testKey('session', 3)
    expect(verifyReceiptJson(signValue(livePayload, session), [session])).toStrictEqual(mismatch)
  })
})

describe('after a restore of the store, a receipt', () => {
  const day = (n: number) => new Date(DECIDED_AT.getTime() + n * 86_400_000)
  const older = testKey('decision', 5)
  const newer = { ...testKey('decision', 6), notBefore: day(0) }
  const times = { copied_at: day(-2), restored_at: day(0) }
  const said = `The store was restored on ${day(0).toISOString()} from a copy of ${day(-2).toISOString()}`
  const lost = `${said}. This receipt may be missing in that copy, so the service may not know it, and another decision on the request may be signed.`
  const pending = `${said} in which this request was pending: another decision on it may have been signed in between.`
  const unknown = `${said}. The receipt alone does not show whether the request was pending in it, so that another decision may have been signed: ask GET /api/v1/approvals/${livePayload.rid}/verify.`
  const unix = (at: Date) => at.getTime() / 1000

  it.each<[string, SigningKey, number, { created?: number; exp?: number }, string | undefined]>([
    ['signed more than a minute before the copy', older, -2 - 61 / 86_400, {}, undefined],
    ['signed a minute before the copy, and perhaps stored after it', older, -2 - 60 / 86_400, {}, lost],
    ['signed between copy and restore', older, -1, { created: -3 }, lost],
    ['signed elsewhere with an old key after the restore', older, 1, {}, lost],
    ['of a request that was in the copy', newer, 1, { created: -3 }, pending],
    ['of a request made after the restore', newer, 1, { created: 0.1 }, undefined],
    ['of an unknown time of creation', newer, 1, {}, unknown],
    ['of a request that waited too short to be older', newer, 6, { exp: 7 }, undefined],
    ['of a request that may have waited a week', newer, 6, { exp: 6.9 }, unknown],
  ])(
    '%s has its caution, by the published key set alone',
    (_what, key, ts, { created, exp = ts + 1 }, caution) => {
      const dated = { ...livePayload, ts: unix(day(ts)), exp: unix(day(exp)) }
      const intentText =
        created === undefined
          ? undefined
          : canonicalize({ ...intent, exp: dated.exp, request_created_at: day(created).toISOString() })
      const payload = intentText === undefined ? dated : { ...dated, nonce: nonceOf(intentText) }
      const signed = { ...signValue(payload, key), ...given({ intent: intentText }) }
      const published = JSON.parse(JSON.stringify(toJwks([older, newer], [times])))
      const result = verifyReceiptJson(signed, parseJwks(published))
      expect(result).toMatchObject({ valid: true })
      expect(result.valid && cautionsAbout(result, [])).toEqual(caution === undefined ? [] : [caution])
      expect(verifyReceiptJson(signed, parseJwks({ keys: published.keys }))).not.toHaveProperty(
        'restoreCaution',
      )
    },
  )

  it('has the caution of the last restore that concerns it, also from a vote next to it', () => {
    const again = { copied_at: day(0.5), restored_at: day(2) }
    const keys = parseJwks(toJwks([newer], [times, again]))
    const result = verifyReceiptJson(
      signPayload({ ...livePayload, ts: unix(day(1)), exp: unix(day(1)) }, newer),
      keys,
    )
    expect(result.valid && result.restoreCaution).toContain(`restored on ${day(2).toISOString()}`)
    const other = verifyReceiptJson(signPayload(livePayload, newer), parseJwks(toJwks([newer])))
    expect(other.valid && result.valid && cautionsAbout(other, [result])).toHaveLength(1)
  })

  it.each([{}, [{}], [{ copied_at: 1 }], [{ copied_at: 1, restored_at: '2' }], ['x']])(
    'is not judged by a key set with the restores %j',
    (restores) => {
      expect(() => parseJwks({ ...toJwks([live]), restores })).toThrow(/restores/)
    },
  )
})

describe('T73: a receipt counts only inside the validity of its key', () => {
  const at = (offset: number) => new Date(DECIDED_AT.getTime() + offset)
  const check = (key: Partial<VerificationKey>) => verifyReceiptJson(receipt, [{ ...live, ...key }])

  it.each<[string, Partial<VerificationKey>, ReceiptErrorCode]>([
    ['before the key began', { notBefore: at(1000) }, 'receipt_key_not_yet_valid'],
    ['after the key ended', { notAfter: at(-1000) }, 'receipt_key_expired'],
    ['after the key was revoked', { revokedAt: at(-1000) }, 'receipt_key_revoked'],
    ['in the second of the revocation', { revokedAt: at(999) }, 'receipt_key_revoked'],
  ])('T73: decided %s is refused', (_name, key, code) => {
    expect(check(key)).toStrictEqual(refusal(code, 'ts'))
    const published = parseJwks(toJwks([{ ...live, ...key }]))
    expect(verifyReceiptJson(receipt, published)).toStrictEqual(refusal(code, 'ts'))
  })

  it('T73: decided before the end stays good for ever; times are compared in whole seconds', () => {
    expect(check({ notAfter: at(1) })).toMatchObject({ valid: true })
    expect(check({ notBefore: at(900) })).toMatchObject({ valid: true })
  })

  it('T73: decided before a revocation verifies, with a warning that the time is the signer’s own word', () => {
    const revokedAt = at(1000)
    expect(check({ revokedAt })).toMatchObject({ valid: true, keyRevokedAt: revokedAt })
  })

  it('refuses a decision from the future only when told the time, with five minutes of tolerance', () => {
    expect(verifyReceiptJson(receipt, pinned, { now: at(-300_000) })).toMatchObject({ valid: true })
    expect(verifyReceiptJson(receipt, pinned, { now: at(-301_000) })).toStrictEqual(
      refusal('receipt_from_future', 'ts'),
    )
    expect(verifyReceiptJson(receipt, pinned, { now: new Date(Number.NaN) })).toMatchObject({ valid: false })
  })
})

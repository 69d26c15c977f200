import { describe, expect, it } from 'vitest'
import { fromBase64 } from '../../src/signing/base64.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { rawSign, verifySignature } from '../../src/signing/ed25519-node.ts'
import { createReceiptSigner, type RawSign, SigningFaultError, signPayload } from '../../src/signing/sign.ts'
import { livePayload, sandboxPayload, testKey } from './fixtures.ts'

const live = testKey('decision', 1)
const sandbox = testKey('decision-sandbox', 2)

describe('signPayload', () => {
  it('signs the RFC 8785 bytes of the payload and names the key', () => {
    const receipt = signPayload(livePayload, live)
    expect(receipt.canonical_payload).toBe(canonicalize(livePayload))
    expect(receipt.canonical_payload).toMatch(/^\{"action":.*,"v":1\}$/)
    expect(receipt.public_key_id).toBe(live.kid)
    expect(receipt.signature).toMatch(/^[A-Za-z0-9+/]{86}==$/)
    const message = new TextEncoder().encode(receipt.canonical_payload)
    expect(verifySignature(live.publicKey, message, fromBase64(receipt.signature))).toBe(true)
  })

  it('signs alike every time (RFC 8032 is deterministic)', () => {
    expect(signPayload(livePayload, live)).toStrictEqual(signPayload(livePayload, live))
  })

  it('signs a decision of the last second', () => {
    const payload = { ...livePayload, ts: livePayload.exp }
    expect(signPayload(payload, live).canonical_payload).toBe(canonicalize(payload))
  })

  it.each([
    ['an unknown field', { ...livePayload, note: 'x' }, live, /field note/],
    ['a missing field', { ...livePayload, nonce: undefined }, live, /field nonce/],
    ['a decision after the expiry', { ...livePayload, ts: livePayload.exp + 1 }, live, /after the expiry/],
    ['a sandbox payload with the live key', sandboxPayload, live, /a decision key does not sign/],
    ['a live payload with the sandbox key', livePayload, sandbox, /a decision-sandbox key does not sign/],
    ['anything with a session key', livePayload, testKey('session', 3), /a session key does not sign/],
    ['a time before the key began', { ...livePayload, ts: 0 }, live, /receipt_key_not_yet_valid/],
    ['a revoked key', livePayload, { ...live, revokedAt: new Date(0) }, /receipt_key_revoked/],
    [
      'a key past its end',
      livePayload,
      { ...live, notAfter: new Date(livePayload.ts * 1000 - 1) },
      /receipt_key_expired/,
    ],
  ])('refuses %s, which no verifier would accept', (_name, payload, key, message) => {
    const sign = () => Reflect.apply(signPayload, undefined, [payload, key])
    expect(sign).toThrow(RangeError)
    expect(sign).toThrow(message)
  })
})

describe('T74: a fault while signing never leaves the module', () => {
  const faults: [string, RawSign][] = [
    ['a flipped bit in R', (message, seed) => flip(rawSign(message, seed), 0)],
    ['a flipped bit in S', (message, seed) => flip(rawSign(message, seed), 40)],
    ['a flipped bit in the message', (message, seed) => rawSign(flip(message, 3), seed)],
    ['a flipped bit in the seed', (message, seed) => rawSign(message, flip(seed, 7))],
    ['an empty signature', () => new Uint8Array()],
    ['a signature with a byte too many', (message, seed) => new Uint8Array([...rawSign(message, seed), 0])],
    ['zeros', () => new Uint8Array(64)],
  ]

  it.each(faults)('T74: %s is refused', (_name, sign) => {
    const signer = createReceiptSigner({ sign })
    expect(() => signer.signPayload(livePayload, live)).toThrow(SigningFaultError)
    expect(() => signer.signBytes(Uint8Array.of(1, 2, 3, 4), live)).toThrow(
      `key ${live.kid} made a signature`,
    )
  })

  it('T74: the error carries neither the faulty signature nor the seed', () => {
    const faulty = flip(rawSign(new TextEncoder().encode(canonicalize(livePayload)), live.seed), 40)
    const signer = createReceiptSigner({ sign: () => faulty })
    try {
      signer.signPayload(livePayload, live)
      expect.unreachable()
    } catch (error) {
      const shown = JSON.stringify([String(error), error, (error as Error).cause ?? null])
      expect(shown).not.toContain(Buffer.from(faulty).toString('base64').slice(0, 20))
      expect(shown).not.toContain(Buffer.from(faulty).toString('hex').slice(0, 20))
      expect(shown).not.toContain('01010101')
    }
  })

  it('T74: a key record with a foreign public key does not sign', () => {
    expect(() => signPayload(livePayload, { ...live, publicKey: sandbox.publicKey })).toThrow(
      SigningFaultError,
    )
  })
})

function flip(data: Uint8Array, at: number): Uint8Array {
  return Uint8Array.from(data, (byte, index) => (index === at ? byte ^ 1 : byte))
}

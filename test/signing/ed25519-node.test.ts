import { createHash } from 'node:crypto'
import { Point } from '@noble/ed25519'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  platformAccepts,
  publicKeyOf,
  verifySignature,
  verifySignatureAside,
} from '../../src/signing/ed25519-node.ts'
import { newSigningKey } from '../../src/signing/keys.ts'
import { signBytes } from '../../src/signing/sign.ts'
import { bytes, hex, KEY_START, nobleAccepts, testKey, vectors } from './fixtures.ts'

interface EdVectors {
  testGroups: {
    publicKey: { pk: string }
    tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[]
  }[]
}
const wycheproof = vectors<EdVectors>('wycheproof/ed25519_test.json').testGroups
const rfc8032 = vectors<{ priv: string; pub: string; msg: string; sig: string }[]>(
  'rfc8032/rfc8032-ed25519.json',
)

const L = 2n ** 252n + 27742317777372353535851937790883648493n
const P = 2n ** 255n - 19n
const little = (value: bigint) => bytes(value.toString(16).padStart(64, '0')).reverse()
const number = (data: Uint8Array) => BigInt(`0x${hex(data.toReversed())}`)

/** R = sB, so that [s]B = R + [k]A holds for every k when A is the identity: one signature for all messages. */
function identityForgery(s = 5n): Uint8Array {
  return new Uint8Array([...Point.BASE.multiply(s).toBytes(), ...little(s)])
}

describe('published vectors', () => {
  it('gives the right verdict on all 151 Wycheproof cases, on this thread and aside', async () => {
    const tests = wycheproof.flatMap(({ publicKey, tests }) =>
      tests.map((test) => ({ ...test, pk: publicKey.pk })),
    )
    expect(tests).toHaveLength(151)
    for (const { pk, msg, sig, result, tcId, comment } of tests) {
      const signed = [bytes(pk), bytes(msg), bytes(sig)] as const
      const verdicts = [verifySignature(...signed), await verifySignatureAside(...signed)]
      expect(verdicts, `tcId ${tcId}: ${comment}`).toEqual([result === 'valid', result === 'valid'])
    }
  })

  it('signs all RFC 8032 section 7.1 messages byte for byte', () => {
    expect(rfc8032).toHaveLength(4)
    for (const { priv, pub, msg, sig } of rfc8032) {
      const seed = bytes(priv)
      const key = newSigningKey({ purpose: 'decision', seed, createdAt: KEY_START, notBefore: KEY_START })
      expect(hex(key.publicKey)).toBe(pub)
      expect(hex(signBytes(bytes(msg), key))).toBe(sig)
      expect(verifySignature(key.publicKey, bytes(msg), bytes(sig))).toBe(true)
    }
  })

  it('signs what both implementations accept, for random keys and messages', () => {
    const key = fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(key, fc.uint8Array({ maxLength: 300 }), (seed, message) => {
        const signer = newSigningKey({
          purpose: 'decision',
          seed,
          createdAt: KEY_START,
          notBefore: KEY_START,
        })
        const signature = signBytes(message, signer)
        expect(platformAccepts(signer.publicKey, message, signature)).toBe(true)
        expect(nobleAccepts(signer.publicKey, message, signature)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })
})

describe('strictness', () => {
  const key = testKey('decision')
  const message = new TextEncoder().encode('pay')
  const signature = signBytes(message, key)

  it('T70: the identity key does not verify one signature for every message, in any spelling', () => {
    const spellings = [1n, 1n + P, 1n + 2n ** 255n, 1n + P + 2n ** 255n]
    for (const identity of spellings.map(little)) {
      for (const text of ['pay 1', 'drop the database', '']) {
        const forged = new TextEncoder().encode(text)
        expect(verifySignature(identity, forged, identityForgery())).toBe(false)
        expect(nobleAccepts(identity, forged, identityForgery())).toBe(false)
      }
    }
  })

  it('T70: ZIP 215 spellings are refused: all small-order keys against all small-order R with S = 0', () => {
    const generator = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')
    const points = [Point.ZERO]
    for (let point = generator; !point.is0(); point = point.add(generator)) points.push(point)
    const spellings = [
      ...points.map((point) => point.toBytes()),
      little(P),
      little(P + 1n),
      little(1n + 2n ** 255n),
    ]
    const zip215 = new TextEncoder().encode('Zcash')
    for (const A of spellings) {
      for (const R of spellings) {
        expect(verifySignature(A, zip215, new Uint8Array([...R, ...new Uint8Array(32)]))).toBe(false)
      }
    }
  })

  it('T70: S + L is a second spelling of a signature and is refused', () => {
    const doubled = number(signature.subarray(32)) + L
    const malleable = new Uint8Array([...signature.subarray(0, 32), ...little(doubled)])
    expect(verifySignature(key.publicKey, message, signature)).toBe(true)
    expect(verifySignature(key.publicKey, message, malleable)).toBe(false)
  })

  it('T70: a mixed-order key that noble takes by its cofactored equation is refused where the platform refuses it', () => {
    const torsion = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')
    const [a, r] = [12345n, 67890n]
    const mixed = Point.BASE.multiply(a).add(torsion).toBytes()
    const R = Point.BASE.multiply(r).toBytes()
    const verdicts = Array.from({ length: 32 }, (_, i) => {
      const text = Uint8Array.of(i)
      const k = number(createHash('sha512').update(R).update(mixed).update(text).digest()) % L
      const forged = new Uint8Array([...R, ...little((r + k * a) % L)])
      expect(nobleAccepts(mixed, text, forged)).toBe(true)
      expect(verifySignature(mixed, text, forged)).toBe(platformAccepts(mixed, text, forged))
      return verifySignature(mixed, text, forged)
    })
    // The cofactorless equation holds by luck for one k in eight; such keys never get past `publicKeyProblem`.
    expect(verdicts.filter((accepted) => !accepted).length).toBeGreaterThan(16)
  })

  it('refuses every wrong length without throwing', () => {
    for (const length of [0, 31, 33, 64]) {
      expect(verifySignature(new Uint8Array(length), message, signature)).toBe(false)
    }
    for (const length of [0, 32, 63, 65, 128]) {
      expect(verifySignature(key.publicKey, message, new Uint8Array(length))).toBe(false)
    }
    expect(verifySignature(key.publicKey, message, new Uint8Array([...signature, 0]))).toBe(false)
  })

  it('never throws on values that are no bytes', () => {
    const bad: unknown[] = [undefined, null, 'text', 5, {}, [], new ArrayBuffer(64)]
    for (const value of bad) {
      // Callers in plain JavaScript have no types to stop them.
      expect(Reflect.apply(verifySignature, undefined, [value, message, signature])).toBe(false)
      expect(Reflect.apply(verifySignature, undefined, [key.publicKey, value, signature])).toBe(false)
      expect(Reflect.apply(verifySignature, undefined, [key.publicKey, message, value])).toBe(false)
    }
  })

  it('refuses keys that are no points of the curve', () => {
    const random = fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(random, (other) => {
        expect(verifySignature(other, message, signature)).toBe(false)
      }),
      { numRuns: 200 },
    )
    expect(() => publicKeyOf(new Uint8Array(33))).toThrow(RangeError)
  })
})

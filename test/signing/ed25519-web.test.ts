import { createHash } from 'node:crypto'
import { Point } from '@noble/ed25519'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { platformAccepts, rawSign, verifySignature } from '../../src/signing/ed25519-node.ts'
import { hasSmallR, isSmallOrder, signatureHolds } from '../../src/signing/ed25519-web.ts'
import { size } from '../support/size.ts'
import { bytes, hex, nobleAccepts, testKey, vectors } from './fixtures.ts'

const L = 2n ** 252n + 27742317777372353535851937790883648493n
const P = 2n ** 255n - 19n
const little = (value: bigint) => bytes(value.toString(16).padStart(64, '0')).reverse()
const number = (data: Uint8Array) => BigInt(`0x${hex(data.toReversed())}`)
const utf8 = (text: string) => new TextEncoder().encode(text)

/** The verdict of the page, after it was found to be the server's, and that of both implementations asked together. */
async function verdict(key: Uint8Array, message: Uint8Array, signature: Uint8Array, about = '') {
  const here = await signatureHolds(key, message, signature)
  expect(verifySignature(key, message, signature), about).toBe(here)
  const both = nobleAccepts(key, message, signature) && platformAccepts(key, message, signature)
  expect(both && !isSmallOrder(key) && !hasSmallR(signature), about).toBe(here)
  return here
}

interface Case {
  key: Uint8Array
  message: Uint8Array
  signature: Uint8Array
}

const wycheproof = vectors<{
  testGroups: {
    publicKey: { pk: string }
    tests: { tcId: number; msg: string; sig: string; result: string }[]
  }[]
}>('wycheproof/ed25519_test.json').testGroups.flatMap(({ publicKey, tests }) =>
  tests.map(({ msg, sig, ...test }) => ({
    ...test,
    key: bytes(publicKey.pk),
    message: bytes(msg),
    signature: bytes(sig),
  })),
)
const rfc8032 = vectors<{ pub: string; msg: string; sig: string }[]>('rfc8032/rfc8032-ed25519.json').map(
  ({ pub, msg, sig }): Case => ({ key: bytes(pub), message: bytes(msg), signature: bytes(sig) }),
)

/** All eight points whose order divides eight. */
const torsion = [Point.ZERO]
const generator = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')
for (let point = generator; !point.is0(); point = point.add(generator)) torsion.push(point)

describe('the verifier without node:crypto gives the verdict of the server', () => {
  it('on all 151 Wycheproof cases, and the right one', async () => {
    expect(wycheproof).toHaveLength(151)
    for (const { tcId, key, message, signature, result } of wycheproof) {
      const valid = await verdict(key, message, signature, `tcId ${tcId}`)
      expect(valid, `tcId ${tcId}`).toBe(result === 'valid')
    }
    for (const { key, message, signature } of rfc8032)
      expect(await verdict(key, message, signature)).toBe(true)
  })

  it('T70: on all 196 ZIP 215 spellings of small points, with S = 0: every one refused', async () => {
    const canonical = torsion.map((point) => number(point.toBytes()))
    const high = 2n ** 255n
    const others = [P, P + 1n, P + high, P + 1n + high, 1n + high, P - 1n + high]
    const spellings = [...canonical, ...others].map(little)
    expect(new Set(spellings.map(hex)).size).toBe(14)
    for (const A of spellings) {
      for (const R of spellings) {
        const signature = new Uint8Array([...R, ...new Uint8Array(32)])
        expect(await verdict(A, utf8('Zcash'), signature)).toBe(false)
      }
    }
  })

  it('T70: on keys and R of prime, mixed and small order, under both equations', async () => {
    const seen = { accepted: 0, cofactoredOnly: 0, smallKey: 0 }
    for (const [a, r] of [
      [12345n, 67890n],
      [12345n, 0n],
      [0n, 67890n],
    ] as const) {
      for (const [i, tA] of torsion.entries()) {
        for (const [j, tR] of torsion.entries()) {
          const A = Point.BASE.multiply(a, false).add(tA).toBytes()
          const R = Point.BASE.multiply(r, false).add(tR).toBytes()
          const message = utf8(`${a} ${r} ${i} ${j}`)
          const digest = new Uint8Array(createHash('sha512').update(R).update(A).update(message).digest())
          const k = number(digest) % L
          const signature = new Uint8Array([...R, ...little((r + k * a) % L)])
          // Where the parts of small order do not cancel out, only the equation times eight holds.
          const exact = tA
            .multiply(k % 8n, false)
            .add(tR)
            .is0()
          const valid = await verdict(A, message, signature, `${a} ${r} ${i} ${j}`)
          expect(valid).toBe(exact && a !== 0n && r !== 0n)
          if (a !== 0n) expect(nobleAccepts(A, message, signature)).toBe(true)
          if (valid) seen.accepted += 1
          else if (a === 0n) seen.smallKey += 1
          else seen.cofactoredOnly += 1
        }
      }
    }
    expect(seen.smallKey).toBe(64)
    expect(seen.accepted).toBeGreaterThan(4)
    expect(seen.cofactoredOnly).toBeGreaterThan(64)
  })

  it('T70: on S + L, on keys spelled with y beyond p, and on every wrong length', async () => {
    const key = testKey('decision')
    const message = utf8('pay')
    const signature = rawSign(message, key.seed)
    const doubled = little(number(signature.subarray(32)) + L)
    expect(await verdict(key.publicKey, message, signature)).toBe(true)
    expect(
      await verdict(key.publicKey, message, new Uint8Array([...signature.subarray(0, 32), ...doubled])),
    ).toBe(false)
    for (let y = 0n; y < 19n; y += 1n) {
      for (const sign of [0n, 2n ** 255n])
        expect(await verdict(little(P + y + sign), message, signature)).toBe(false)
    }
    for (const length of [0, 31, 33, 64]) {
      expect(await verdict(new Uint8Array(length), message, signature)).toBe(false)
      expect(await verdict(key.publicKey, message, new Uint8Array(length))).toBe(false)
    }
  })

  it('on random keys and messages, and on any one bit of key, message and signature turned', async () => {
    const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })
    const place = fc.tuple(fc.constantFrom('key', 'message', 'signature', 'none'), fc.nat(511))
    await fc.assert(
      fc.asyncProperty(
        seed,
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        place,
        async (s, m, [where, bit]) => {
          const parts: Record<'key' | 'message' | 'signature', Uint8Array> = {
            key: testKeyOf(s),
            message: m,
            signature: rawSign(m, s),
          }
          if (where !== 'none') parts[where] = turned(parts[where], bit)
          const valid = await verdict(parts.key, parts.message, parts.signature)
          expect(valid).toBe(where === 'none')
          expect(platformAccepts(parts.key, parts.message, parts.signature)).toBe(valid)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('T70: on published vectors with key, R or S replaced by what an attacker would try', async () => {
    const high = 2n ** 255n
    const odd = [...torsion.map((point) => number(point.toBytes())), P, P + 1n, P + 18n, P - 1n, 2n]
    const points = odd.flatMap((y) => [little(y % high), little((y % high) + high)])
    const point = fc.constantFrom(...points)
    const scalar = fc.constantFrom(
      0n,
      1n,
      8n,
      L - 1n,
      L,
      L + 1n,
      2n * L,
      2n ** 252n,
      high - 1n,
      2n * high - 1n,
    )
    const change = fc.oneof(
      point.map(
        (key) =>
          (old: Case): Case => ({ ...old, key }),
      ),
      point.map(
        (R) =>
          (old: Case): Case =>
            joined(old, R, old.signature.subarray(32)),
      ),
      scalar.map(
        (S) =>
          (old: Case): Case =>
            joined(old, old.signature.subarray(0, 32), little(S)),
      ),
      scalar.map((more) => (old: Case): Case => {
        const S = (number(old.signature.subarray(32, 64)) + more) % (2n * high)
        return joined(old, old.signature.subarray(0, 32), little(S))
      }),
      fc.tuple(point, scalar).map(
        ([R, S]) =>
          (old: Case): Case =>
            joined(old, R, little(S)),
      ),
    )
    const whole = [...rfc8032, ...wycheproof].filter(({ signature }) => signature.length === 64)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...whole),
        fc.array(change, { maxLength: 2 }),
        async (old, changes) => {
          const { key, message, signature } = changes.reduce((now, apply) => apply(now), { ...old })
          await verdict(key, message, signature)
        },
      ),
      { numRuns: size(300, 5_000) },
    )
  })

  it('refuses what is no bytes, and does not throw', async () => {
    const { publicKey } = testKey('decision')
    for (const odd of [undefined, null, 'text', 5, {}, []]) {
      expect(await Reflect.apply(signatureHolds, undefined, [odd, odd, odd])).toBe(false)
      expect(await Reflect.apply(signatureHolds, undefined, [publicKey, utf8('x'), odd])).toBe(false)
    }
  })
})

function testKeyOf(seed: Uint8Array): Uint8Array {
  const digest = createHash('sha512').update(seed).digest().subarray(0, 32)
  digest.writeUInt8(digest.readUInt8(0) & 248, 0)
  digest.writeUInt8((digest.readUInt8(31) & 127) | 64, 31)
  return Point.BASE.multiply(number(new Uint8Array(digest)) % L).toBytes()
}

function joined(old: Case, R: Uint8Array, S: Uint8Array): Case {
  return { ...old, signature: new Uint8Array([...R, ...S]) }
}

function turned(data: Uint8Array, bit: number): Uint8Array {
  const at = bit % (data.length * 8)
  return data.map((byte, index) => (index === at >> 3 ? byte ^ (1 << (at & 7)) : byte))
}

import { createPublicKey } from 'node:crypto'
import { Point } from '@noble/ed25519'
import { describe, expect, it } from 'vitest'
import { fromBase64Url, toBase64Url } from '../../src/signing/base64.ts'
import { isSmallOrder, publicKeyProblem } from '../../src/signing/ed25519-web.ts'
import { JwksError, toJwks } from '../../src/signing/jwks.ts'
import { KeyRing, newSigningKey, parseJwks, thumbprint, toPublicRecord } from '../../src/signing/keys.ts'
import { bytes, hex, KEY_START, testKey } from './fixtures.ts'

const P = 2n ** 255n - 19n
const littleEndian = (y: bigint) => bytes(y.toString(16).padStart(64, '0')).reverse()
const withSign = (key: Uint8Array) => Uint8Array.from(key, (byte, at) => (at === 31 ? byte | 0x80 : byte))

/** All eight points of small order, from a generator of the torsion subgroup, without using the list under test. */
function torsionPoints(): Point[] {
  const generator = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')
  const points = [Point.ZERO]
  for (let point = generator; !point.is0(); point = point.add(generator)) points.push(point)
  return points
}

describe('public keys', () => {
  it('T70: all eight points of small order are refused, in every spelling', () => {
    const points = torsionPoints()
    expect(points).toHaveLength(8)
    const spellings = points.flatMap((point) => {
      const y = point.toAffine().y
      return [y, y + P].filter((value) => value < 2n ** 255n).map(littleEndian)
    })
    const all = new Set(spellings.flatMap((key) => [hex(key), hex(withSign(key))]))
    expect(all.size).toBe(14)
    for (const key of all) {
      expect(isSmallOrder(bytes(key)), key).toBe(true)
      expect(publicKeyProblem(bytes(key)), key).toBe('is a point of small order')
    }
  })

  it('T70: refuses other lengths, points off the curve, second spellings and mixed order', () => {
    expect(publicKeyProblem(testKey('decision').publicKey)).toBeUndefined()
    expect(publicKeyProblem(new Uint8Array(31))).toBe('must have 32 bytes')
    expect(publicKeyProblem(littleEndian(2n))).toBe('is not a point of the curve')
    // y = p + 3 is a second spelling of y = 3, which is on the curve.
    expect(publicKeyProblem(littleEndian(3n + P))).toBe('is not a point of the curve')
    const mixed = Point.BASE.add(torsionPoints()[1] ?? Point.ZERO).toBytes()
    expect(publicKeyProblem(mixed)).toBe('lies outside the prime-order group')
  })
})

describe('thumbprint', () => {
  it('is the RFC 7638 thumbprint of RFC 8037 appendix A.3, of the key of appendix A.1', () => {
    const seed = fromBase64Url('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A')
    const key = newSigningKey({ purpose: 'decision', seed, createdAt: KEY_START, notBefore: KEY_START })
    expect(toBase64Url(key.publicKey)).toBe('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo')
    expect(thumbprint(key.publicKey)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
    expect(key.kid).toBe(thumbprint(key.publicKey))
  })

  it('refuses a seed of another length', () => {
    const make = () =>
      newSigningKey({
        purpose: 'decision',
        seed: new Uint8Array(31),
        createdAt: KEY_START,
        notBefore: KEY_START,
      })
    expect(make).toThrow('an Ed25519 seed has 32 bytes')
  })

  it('keeps its own copy of the seed', () => {
    const seed = new Uint8Array(32).fill(5)
    const key = newSigningKey({ purpose: 'decision', seed, createdAt: KEY_START, notBefore: KEY_START })
    seed.fill(0)
    expect(hex(key.seed)).toBe('05'.repeat(32))
  })
})

describe('key ring', () => {
  const day = (count: number) => new Date(KEY_START.getTime() + count * 86_400_000)
  const old = testKey('decision', 1)
  const next = { ...testKey('decision', 2), notBefore: day(10) }

  it('signs with the newest key that has begun', () => {
    const ring = new KeyRing([next, old, testKey('decision-sandbox', 3)])
    expect(ring.active('decision', day(9))?.kid).toBe(old.kid)
    expect(ring.active('decision', day(10))?.kid).toBe(next.kid)
    expect(ring.active('decision', day(-1))).toBeUndefined()
    expect(ring.active('session', day(10))).toBeUndefined()
    expect(ring.find(old.kid)?.publicKey).toBe(old.publicKey)
    expect(ring.find('other')).toBeUndefined()
  })

  it('does not sign with a key from its end on', () => {
    const ring = new KeyRing([{ ...next, notAfter: day(20) }, old])
    expect(ring.active('decision', new Date(day(20).getTime() - 1))?.kid).toBe(next.kid)
    expect(ring.active('decision', day(20))?.kid).toBe(old.kid)
  })

  it('never signs with a revoked key, not even for an earlier time', () => {
    const ring = new KeyRing([{ ...old, revokedAt: day(5) }])
    expect(ring.active('decision', day(1))).toBeUndefined()
    expect(ring.find(old.kid)?.revokedAt).toEqual(day(5))
    expect([-1, 0, 1].map((count) => ring.revokedFor('decision', day(count)))).toEqual([false, true, true])
  })

  it('lets no older key take the place of a revoked one, but for one that was revoked before it began', () => {
    const revoked = new KeyRing([old, { ...next, revokedAt: day(15) }])
    expect(revoked.active('decision', day(9))?.kid).toBe(old.kid)
    expect(revoked.active('decision', day(12))).toBeUndefined()
    expect(revoked.active('decision', day(20))).toBeUndefined()
    for (const revokedAt of [day(9), day(10)])
      expect(new KeyRing([old, { ...next, revokedAt }]).active('decision', day(20))?.kid).toBe(old.kid)
    expect(revoked.revokedFor('decision', day(12))).toBe(true)
  })

  it('tells a key that was revoked, even from before it began on, from one whose seed is lost', () => {
    const from = (revokedAt: Date) => new KeyRing([{ ...old, revokedAt }, next])
    for (const at of [day(-1), day(5)]) expect(from(at).revokedFor('decision', day(1))).toBe(true)
    expect(from(day(-1)).revokedFor('decision-sandbox', day(1))).toBe(false)
    const lost = new KeyRing([{ ...next, revokedAt: day(9) }], [toPublicRecord(old)])
    expect(lost.active('decision', day(20))).toBeUndefined()
    expect(lost.revokedFor('decision', day(20))).toBe(false)
  })

  it('refuses a repeated kid, and a record whose parts do not belong together', () => {
    expect(() => new KeyRing([old, old])).toThrow('the key ring repeats a kid')
    expect(() => new KeyRing([{ ...old, seed: next.seed }])).toThrow(/does not match its seed/)
    expect(() => new KeyRing([{ ...old, kid: next.kid }])).toThrow(/does not match its seed/)
    expect(() => new KeyRing([{ ...old, publicKey: next.publicKey }])).toThrow(/does not match its seed/)
  })

  it('hands out public records without the seed', () => {
    const records = new KeyRing([{ ...old, notAfter: day(5) }]).publicRecords()
    expect(records).toStrictEqual([toPublicRecord({ ...old, notAfter: day(5) })])
    expect(Object.keys(records[0] ?? {})).not.toContain('seed')
  })
})

describe('JWKS', () => {
  const live = testKey('decision', 1)
  const sandbox = testKey('decision-sandbox', 2)

  it('publishes decision keys with their validity, and no session key and no secret', () => {
    const end = new Date('2027-01-01T00:00:00.999Z')
    const later = new Date('2028-01-01T00:00:00.000Z')
    const jwks = toJwks([{ ...live, notAfter: end, revokedAt: later }, sandbox, testKey('session', 3)])
    expect(jwks.keys).toHaveLength(2)
    expect(jwks.keys[0]).toStrictEqual({
      kty: 'OKP',
      crv: 'Ed25519',
      x: toBase64Url(live.publicKey),
      use: 'sig',
      alg: 'EdDSA',
      kid: live.kid,
      purpose: 'decision',
      nbf: 1767225600,
      exp: 1798761600,
      revoked_at: 1830297600,
    })
    expect(jwks.keys[1]).not.toHaveProperty('exp')
    // node:crypto reads it as a public key.
    expect(createPublicKey({ key: { ...jwks.keys[1] }, format: 'jwk' }).asymmetricKeyType).toBe('ed25519')
  })

  it('reads back what it wrote', () => {
    const revokedAt = new Date('2027-03-01T00:00:00.000Z')
    const keys = parseJwks(JSON.parse(JSON.stringify(toJwks([{ ...live, revokedAt }, sandbox]))))
    expect(keys).toStrictEqual([
      { kid: live.kid, purpose: 'decision', publicKey: live.publicKey, notBefore: KEY_START, revokedAt },
      { kid: sandbox.kid, purpose: 'decision-sandbox', publicKey: sandbox.publicKey, notBefore: KEY_START },
    ])
  })

  it('passes over keys of purposes it does not know', () => {
    const [jwk] = toJwks([live]).keys
    expect(
      parseJwks({
        keys: [
          { ...jwk, purpose: 'log' },
          { kty: 'RSA', purpose: 'session' },
        ],
      }),
    ).toStrictEqual([])
  })

  const [jwk] = toJwks([live]).keys
  const weak = { x: toBase64Url(bytes(`01${'00'.repeat(31)}`)) }
  it.each([
    ['no object', null, /array "keys"/],
    ['no list', { keys: {} }, /array "keys"/],
    ['an entry that is no object', { keys: ['a'] }, /keys\[0\] is not an object/],
    ['a private key', { keys: [{ ...jwk, d: 'secret' }] }, /private key/],
    ['a missing purpose', { keys: [{ ...jwk, purpose: undefined }] }, /purpose is missing/],
    ['another curve', { keys: [{ ...jwk, crv: 'X25519' }] }, /not an Ed25519 signature key/],
    ['another algorithm', { keys: [{ ...jwk, alg: 'HS256' }] }, /not an Ed25519 signature key/],
    ['another use', { keys: [{ ...jwk, use: 'enc' }] }, /not an Ed25519 signature key/],
    ['a missing kid', { keys: [{ ...jwk, kid: undefined }] }, /kid is missing/],
    [
      'a kid that is not the thumbprint',
      { keys: [{ ...jwk, kid: sandbox.kid }] },
      /not the RFC 7638 thumbprint/,
    ],
    ['a repeated kid', { keys: [jwk, jwk] }, /repeats a kid/],
    ['a missing x', { keys: [{ ...jwk, x: 5 }] }, /x is missing/],
    ['a padded x', { keys: [{ ...jwk, x: `${jwk?.x}=` }] }, /canonical base64url/],
    ['a short x', { keys: [{ ...jwk, x: 'AAAA' }] }, /must have 32 bytes/],
    [
      'the identity key',
      { keys: [{ ...jwk, ...weak, kid: thumbprint(fromBase64Url(weak.x)) }] },
      /small order/,
    ],
    ['a missing nbf', { keys: [{ ...jwk, nbf: undefined }] }, /nbf is missing/],
    ['a text nbf', { keys: [{ ...jwk, nbf: '0' }] }, /nbf is not a Unix time/],
    ['an exp beyond all dates', { keys: [{ ...jwk, exp: 1e15 }] }, /exp is not a Unix time/],
    [
      'a revocation that is not a number',
      { keys: [{ ...jwk, revoked_at: null }] },
      /revoked_at is not a Unix time/,
    ],
  ])('refuses %s', (_name, json, message) => {
    expect(() => parseJwks(json)).toThrow(JwksError)
    expect(() => parseJwks(json)).toThrow(message)
  })
})

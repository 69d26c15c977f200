import { type createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readPasskeyKey } from '../../../src/flow/people/passkey-key.ts'
import { type Cbor, encodeCbor } from '../../support/cbor.ts'
import { coseKey } from '../../support/soft-authenticator.ts'

const cose = (entries: [number, Cbor][]) => encodeCbor(new Map(entries))
const ed25519 = (x: Uint8Array) =>
  cose([
    [1, 1],
    [3, -8],
    [-1, 6],
    [-2, x],
  ])

const p256 = (x: Cbor, y: Cbor) =>
  cose([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, x],
    [-3, y],
  ])
const POINT = {
  x: Buffer.from('2927b10512bae3eddcfe467828128bad2903269919f7086069c8c4df6c732838', 'hex'),
  y: Buffer.from('c7787964eaac00e5921fb1498a60f4606766b3d9685001558d1a974e7341513e', 'hex'),
}

describe('the key of a passkey', () => {
  it.each([
    ['ES256', -7, () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['EdDSA', -8, () => generateKeyPairSync('ed25519')],
    ['RS256', -257, () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ] as const)('may be for %s', (_name, algorithm, make) => {
    expect(readPasskeyKey(coseKey(algorithm, make().publicKey)).algorithm).toBe(algorithm)
  })

  it.each([
    ['00'.repeat(32)],
    [`01${'00'.repeat(31)}`],
    [`01${'00'.repeat(30)}80`],
    ['26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ['c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
    [`ec${'ff'.repeat(30)}7f`],
  ])('T35: is refused when it is the small-order point %s', (hex) => {
    expect(() => readPasskeyKey(ed25519(Buffer.from(hex, 'hex')))).toThrow('is a point of small order')
  })

  it.each<[string, Uint8Array, string]>([
    ['is no CBOR', Buffer.from('ff', 'hex'), 'cannot be read'],
    [
      'is ES384',
      cose([
        [1, 2],
        [3, -35],
        [-1, 2],
      ]),
      'algorithm that is not allowed',
    ],
    [
      'is ML-DSA',
      cose([
        [1, 7],
        [3, -48],
      ]),
      'algorithm that is not allowed',
    ],
    [
      'is RS1',
      cose([
        [1, 3],
        [3, -65535],
      ]),
      'algorithm that is not allowed',
    ],
    [
      'is ES256 on P-384',
      cose([
        [1, 2],
        [3, -7],
        [-1, 2],
      ]),
      'must be on P-256',
    ],
    [
      'is EdDSA on Ed448',
      cose([
        [1, 1],
        [3, -8],
        [-1, 7],
        [-2, new Uint8Array(57)],
      ]),
      'must be on Ed25519',
    ],
    [
      'is ES256 with a leading zero',
      p256(Buffer.concat([Buffer.alloc(1), POINT.x]), POINT.y),
      'must be on P-256',
    ],
    ['is ES256 without a second coordinate', p256(POINT.x, 1), 'must be on P-256'],
    ['is ES256 beside the curve', p256(POINT.x, POINT.x), 'is none'],
    ['is Ed25519 of 31 bytes', ed25519(new Uint8Array(31)), 'must have 32 bytes'],
    [
      'is RSA of 1024 bits',
      cose([
        [1, 3],
        [3, -257],
        [-1, new Uint8Array(128)],
        [-2, Buffer.from([1, 0, 1])],
      ]),
      '2048 bits',
    ],
    [
      'is RSA of 2040 bits behind a zero',
      cose([
        [1, 3],
        [3, -257],
        [-1, Buffer.concat([Buffer.alloc(1), Buffer.alloc(255, 0xff)])],
        [-2, Buffer.from([1, 0, 1])],
      ]),
      '2048 bits',
    ],
    [
      'is RSA with exponent 1',
      cose([
        [1, 3],
        [3, -257],
        [-1, new Uint8Array(256)],
        [-2, Buffer.from([1])],
      ]),
      '65537',
    ],
  ])('T35: is refused when it %s', (_name, key, reason) => {
    expect(() => readPasskeyKey(key)).toThrow(reason)
  })
})

interface Wycheproof {
  testGroups: {
    publicKey: { uncompressed: string }
    tests: { tcId: number; msg: string; sig: string; result: string }[]
  }[]
}

describe('T35: a signature under the key of a passkey', () => {
  const message = Buffer.from('123400')

  // What the older of them calls acceptable, spellings that some libraries take, is not valid here.
  it.each([
    ['ecdsa_secp256r1_sha256_test.json', 387],
    ['ecdsa_secp256r1_sha256_v1_test.json', 471],
  ])('holds in ES256 exactly where Wycheproof says that it is valid: %s', (name, count) => {
    const file = new URL(`../../vectors/wycheproof/${name}`, import.meta.url)
    const { testGroups }: Wycheproof = JSON.parse(readFileSync(file, 'utf8'))
    const results = testGroups.flatMap(({ publicKey, tests }) => {
      const point = Buffer.from(publicKey.uncompressed, 'hex')
      const key = readPasskeyKey(p256(point.subarray(1, 33), point.subarray(33)))
      return tests.map(({ tcId, msg, sig, result }) => {
        const holds = key.verifies(Buffer.from(msg, 'hex'), Buffer.from(sig, 'hex'))
        return [tcId, holds, result === 'valid']
      })
    })
    expect(results).toHaveLength(count)
    expect(results.filter(([, got, said]) => got !== said)).toEqual([])
  })

  it.each(Array.from({ length: 8 }, (_, index) => index))('has one spelling in ES256 (key %i)', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = readPasskeyKey(coseKey(-7, publicKey))
    const genuine = sign('sha256', message, privateKey)
    expect(key.verifies(message, genuine)).toBe(true)
    for (const [name, other] of otherSpellings(genuine)) {
      expect([name, key.verifies(message, other)]).toEqual([name, false])
      expect([name, platformSays(publicKey, other)]).toEqual([name, false])
    }
  })

  it('has one spelling in RS256 and EdDSA', () => {
    const pairs = [
      [-257, generateKeyPairSync('rsa', { modulusLength: 2048 })],
      [-8, generateKeyPairSync('ed25519')],
    ] as const
    for (const [algorithm, { publicKey, privateKey }] of pairs) {
      const key = readPasskeyKey(coseKey(algorithm, publicKey))
      const made = sign(algorithm === -8 ? null : 'sha256', message, privateKey)
      expect(key.verifies(message, made)).toBe(true)
      const zero = Buffer.alloc(1)
      const others = [
        Buffer.concat([zero, made]),
        Buffer.concat([made, zero]),
        made.subarray(1),
        made.subarray(0, -1),
        zero,
        Buffer.alloc(0),
      ]
      for (const other of others) expect(key.verifies(message, other)).toBe(false)
    }
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const modulus = BigInt(
      `0x${Buffer.from(publicKey.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex')}`,
    )
    const made = BigInt(`0x${sign('sha256', message, privateKey).toString('hex')}`)
    const above = Buffer.from((made + modulus).toString(16).padStart(514, '0'), 'hex')
    const key = readPasskeyKey(coseKey(-257, publicKey))
    expect(key.verifies(message, above)).toBe(false)
    expect(key.verifies(message, above.subarray(1))).toBe(false)
  })

  function platformSays(publicKey: ReturnType<typeof createPublicKey>, signature: Buffer): boolean {
    return verify('sha256', message, publicKey, signature)
  }
})

/** The order of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** The same r and s in BER and in what some decoders take for it, other integers that stand for them, and what is cut or flipped. */
function otherSpellings(der: Buffer): [string, Buffer][] {
  const r = der.subarray(4, 4 + (der[3] ?? 0))
  const s = der.subarray(6 + r.length)
  const node = (tag: number, body: Uint8Array, length: number[] = [body.length], end: number[] = []) =>
    Buffer.concat([Buffer.from([tag, ...length]), body, Buffer.from(end)])
  const pair = (first: Buffer, second: Buffer) => node(0x30, Buffer.concat([first, second]))
  const [R, S] = [node(2, r), node(2, s)]
  const nothing = Buffer.alloc(0)
  const integer = (value: bigint) => {
    const hex = value.toString(16)
    const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
    return node(2, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.alloc(1), bytes]))
  }
  const numberOf = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex')}`)
  const lengths = (size: number): number[][] => [
    [0x81, size],
    [0x82, 0, size],
    [0x84, 0, 0, 0, size],
    [0x89, 1, 0, 0, 0, 0, 0, 0, 0, size],
    [0x80],
    [size + 1],
    [size - 1],
  ]
  const places: [string, (tag: number, length?: number[], end?: number[]) => Buffer, number, number][] = [
    [
      'the sequence',
      (tag, length, end) => node(tag, Buffer.concat([R, S]), length, end),
      R.length + S.length,
      0x30,
    ],
    ['r', (tag, length, end) => pair(node(tag, r, length, end), S), r.length, 2],
    ['s', (tag, length, end) => pair(R, node(tag, s, length, end)), s.length, 2],
  ]
  const encoded = places.flatMap(([name, make, size, right]): [string, Buffer][] => [
    ...lengths(size).map((length): [string, Buffer] => [
      `${name} with the length ${length}`,
      make(right, length),
    ]),
    [`${name} with an end of contents`, make(right, [0x80], [0, 0])],
    ...[0, 1, 2, 3, 5, 0x0a, 0x10, 0x22, 0x30, 0x31, 0x82, 0xff]
      .filter((tag) => tag !== right)
      .map((tag): [string, Buffer] => [`${name} with the tag ${tag}`, make(tag, [size])]),
  ])
  const padded = (bytes: Buffer) => node(2, Buffer.concat([Buffer.alloc(1), bytes]))
  const bare = (bytes: Buffer) =>
    node(2, bytes[0] === 0 ? bytes.subarray(1) : Buffer.concat([Buffer.alloc(2), bytes]))
  const more = [
    Buffer.alloc(1),
    Buffer.from([5, 0]),
    Buffer.from([0, 0]),
    Buffer.from([2, 1, 1]),
    Buffer.from([0x30, 0]),
  ]
  return [
    ...encoded,
    ...more.map((end, index): [string, Buffer] => [`more ${index} behind it`, Buffer.concat([der, end])]),
    ...more.map((end, index): [string, Buffer] => [
      `more ${index} in it`,
      node(0x30, Buffer.concat([R, S, end])),
    ]),
    ...more.map((end, index): [string, Buffer] => [
      `more ${index} before r`,
      node(0x30, Buffer.concat([end, R, S])),
    ]),
    ['a sequence in a sequence', node(0x30, der)],
    ['r padded', pair(padded(r), S)],
    ['s padded', pair(R, padded(s))],
    ['r without its zero, or with two', pair(bare(r), S)],
    ['s without its zero, or with two', pair(R, bare(s))],
    ['r alone', node(0x30, R)],
    ['no integers', node(0x30, nothing)],
    ['r empty', pair(node(2, nothing), S)],
    ['s empty', pair(R, node(2, nothing))],
    ['s and r', pair(S, R)],
    ...[0n, 1n, ORDER, ORDER - 1n, ORDER + 1n, numberOf(r) + ORDER, 1n << 256n].map(
      (value): [string, Buffer] => [`r = ${value}`, pair(integer(value), S)],
    ),
    ...[0n, 1n, ORDER, ORDER - 1n, ORDER + 1n, numberOf(s) + ORDER, 1n << 256n].map(
      (value): [string, Buffer] => [`s = ${value}`, pair(R, integer(value))],
    ),
    ...Array.from(der, (_, index): [string, Buffer] => [`cut at ${index}`, der.subarray(0, index)]),
    ...Array.from(der, (byte, index): [string, Buffer] => [
      `byte ${index} flipped`,
      Buffer.from(der.with(index, byte ^ 1)),
    ]),
  ]
}

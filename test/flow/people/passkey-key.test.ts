import { generateKeyPairSync } from 'node:crypto'
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

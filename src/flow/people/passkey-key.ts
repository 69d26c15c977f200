import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { decodeCredentialPublicKey } from '@simplewebauthn/server/helpers'
import { verifySignature } from '../../signing/ed25519.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import { publicKeyProblem } from '../../signing/strict-ed25519.ts'
import { CeremonyError } from './ceremony.ts'

/** ES256, EdDSA and RS256: what authenticators really make. Nothing else is registered or verified (T35). */
export const ALLOWED_ALGORITHMS = [-8, -7, -257] as const

/** COSE key parameters (RFC 9052 §7, RFC 9053 §7, RFC 8230 §4). */
const KTY = 1
const ALG = 3
const CRV = -1
const X = -2
const Y = -3
const N = -1
const E = -2

const MIN_RSA_BYTES = 256

/** Bytes of each of r and s on P-256. */
const SIZE = 32

/** What is known of a passkey's public key. */
export interface PasskeyKey {
  algorithm: (typeof ALLOWED_ALGORITHMS)[number]
  /** Strict: a signature in any other spelling than the one its standard names does not hold. */
  verifies(message: Uint8Array, signature: Uint8Array): boolean
}

/**
 * Reads a COSE key. Key type and curve must fit the algorithm, an elliptic key must be a point (an Ed25519 one such that only its
 * owner can sign for it), and an RSA key must be long enough.
 * @throws CeremonyError
 */
export function readPasskeyKey(cose: Uint8Array): PasskeyKey {
  const key = decode(cose)
  switch (key.get(ALG)) {
    case -7: {
      const point = p256Of(key)
      return { algorithm: -7, verifies: (message, signature) => verifyEcdsa(point, message, signature) }
    }
    case -8: {
      const point = ed25519Of(key)
      return { algorithm: -8, verifies: (message, signature) => verifySignature(point, message, signature) }
    }
    case -257: {
      const modulus = rsaOf(key)
      return {
        algorithm: -257,
        verifies: (message, signature) => verify('sha256', message, modulus, signature),
      }
    }
    default:
      throw new CeremonyError('the key has an algorithm that is not allowed')
  }
}

function decode(cose: Uint8Array): Map<unknown, unknown> {
  let key: unknown
  try {
    key = decodeCredentialPublicKey(Uint8Array.from(cose))
  } catch (cause) {
    throw new CeremonyError('the public key cannot be read', { cause })
  }
  if (!(key instanceof Map)) throw new CeremonyError('the public key is not a map')
  return key
}

function ed25519Of(key: Map<unknown, unknown>): Uint8Array {
  const x = key.get(X)
  if (key.get(KTY) !== 1 || key.get(CRV) !== 6 || !(x instanceof Uint8Array))
    throw new CeremonyError('an EdDSA key must be on Ed25519')
  const problem = publicKeyProblem(x)
  if (problem !== undefined) throw new CeremonyError(`the Ed25519 key ${problem}`)
  return x
}

function p256Of(key: Map<unknown, unknown>): KeyObject {
  const [x, y] = [key.get(X), key.get(Y)]
  const sized = x instanceof Uint8Array && y instanceof Uint8Array && x.length === 32 && y.length === 32
  if (key.get(KTY) !== 2 || key.get(CRV) !== 1 || !sized)
    throw new CeremonyError('an ES256 key must be on P-256')
  return platformKey({ kty: 'EC', crv: 'P-256', x: toBase64Url(x), y: toBase64Url(y) })
}

/** RFC 8230 §4: without leading zeros, which would make a short modulus look long. */
function rsaOf(key: Map<unknown, unknown>): KeyObject {
  const n = key.get(N)
  const e = key.get(E)
  const usual = e instanceof Uint8Array && Buffer.from(e).equals(Buffer.from([1, 0, 1]))
  if (key.get(KTY) !== 3 || !(n instanceof Uint8Array) || !isLong(n) || !usual)
    throw new CeremonyError('an RS256 key must have 2048 bits and the exponent 65537')
  return platformKey({ kty: 'RSA', n: toBase64Url(n), e: toBase64Url(e) })
}

function isLong(modulus: Uint8Array): boolean {
  const [first = 0] = modulus
  return modulus.length === MIN_RSA_BYTES ? first >= 0x80 : modulus.length > MIN_RSA_BYTES && first > 0
}

function platformKey(key: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch (cause) {
    throw new CeremonyError('the public key is none', { cause })
  }
}

/**
 * ECDSA on P-256 with SHA-256, the signature in strict DER: WebCrypto, and libraries on it, take r and s out of whatever looks
 * like DER, so they accept evidence that other verifiers refuse. r and s from the order on fail in the platform.
 */
function verifyEcdsa(key: KeyObject, message: Uint8Array, der: Uint8Array): boolean {
  const signature = fixedSize(der)
  return signature !== undefined && verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

/** r and s one after the other; undefined unless the bytes are exactly `SEQUENCE { INTEGER r, INTEGER s }`, both above 0. */
function fixedSize(der: Uint8Array): Uint8Array | undefined {
  const r = integerAt(der, 2)
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || r === undefined) return undefined
  const s = integerAt(der, 4 + r.length)
  if (s === undefined || 6 + r.length + s.length !== der.length) return undefined
  const signature = new Uint8Array(2 * SIZE)
  for (const [end, integer] of [[SIZE, r] as const, [2 * SIZE, s] as const]) {
    const digits = integer[0] === 0 ? integer.subarray(1) : integer
    if (digits.length > SIZE) return undefined
    signature.set(digits, end - digits.length)
  }
  return signature
}

/** Content of the INTEGER there: above 0, a leading zero byte only where the sign needs one. */
function integerAt(der: Uint8Array, at: number): Uint8Array | undefined {
  const length = der[at + 1] ?? 0
  const bytes = der.subarray(at + 2, at + 2 + length)
  const [first = 0x80, second = 0] = bytes
  const shortest = first === 0 ? second >= 0x80 : first < 0x80
  return der[at] === 0x02 && bytes.length === length && shortest ? bytes : undefined
}

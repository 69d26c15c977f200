import { decodeCredentialPublicKey } from '@simplewebauthn/server/helpers'
import { publicKeyProblem } from '../../signing/strict-ed25519.ts'
import { CeremonyError } from './ceremony.ts'

/** ES256, EdDSA and RS256: what authenticators really make. Nothing else is registered or verified (T35). */
export const ALLOWED_ALGORITHMS = [-8, -7, -257] as const

/** COSE key parameters (RFC 9052 §7, RFC 9053 §7, RFC 8230 §4). */
const KTY = 1
const ALG = 3
const CRV = -1
const X = -2
const N = -1
const E = -2

const MIN_RSA_BYTES = 256

/** What is known of a passkey's public key. */
export interface PasskeyKey {
  algorithm: (typeof ALLOWED_ALGORITHMS)[number]
  /** The raw 32 bytes, for Ed25519 only. */
  ed25519?: Uint8Array
}

/**
 * Reads a COSE key. Key type and curve must fit the algorithm, an Ed25519 key must be a point that only its owner can sign
 * for, and an RSA key must be long enough.
 * @throws CeremonyError
 */
export function readPasskeyKey(cose: Uint8Array): PasskeyKey {
  const key = decode(cose)
  switch (key.get(ALG)) {
    case -7:
      if (key.get(KTY) !== 2 || key.get(CRV) !== 1) throw new CeremonyError('an ES256 key must be on P-256')
      return { algorithm: -7 }
    case -8:
      return { algorithm: -8, ed25519: ed25519Of(key) }
    case -257:
      checkRsa(key)
      return { algorithm: -257 }
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

function checkRsa(key: Map<unknown, unknown>): void {
  const n = key.get(N)
  const e = key.get(E)
  const usual = e instanceof Uint8Array && Buffer.from(e).equals(Buffer.from([1, 0, 1]))
  if (key.get(KTY) !== 3 || !(n instanceof Uint8Array) || n.length < MIN_RSA_BYTES || !usual)
    throw new CeremonyError('an RS256 key must have 2048 bits and the exponent 65537')
}

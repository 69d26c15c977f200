import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { decodeCredentialPublicKey } from '@simplewebauthn/server/helpers'
import type { SignedPasskey } from '../../domain/bundle.ts'
import { given } from '../../domain/given.ts'
import type { Vote } from '../../domain/request.ts'
import { fromBase64Url, toBase64Url } from '../../signing/base64.ts'
import { verifySignature } from '../../signing/ed25519-node.ts'
import { publicKeyProblem } from '../../signing/ed25519-web.ts'
import { writeKey } from '../../signing/passkey-assertion.ts'
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

/** A passkey's public key. */
export interface PasskeyKey {
  algorithm: (typeof ALLOWED_ALGORITHMS)[number]
  /** The key in the one spelling in which bundles have it, base64url; authenticators may have others. */
  plain: string
  /** Strict: refuses a signature in any encoding other than the one that its standard prescribes. */
  verifies(message: Uint8Array, signature: Uint8Array): boolean
}

/**
 * Reads a COSE key. Key type and curve must fit the algorithm, an elliptic key must be a point (for Ed25519, one for which only
 * its owner can sign), and an RSA key must be long enough.
 * @throws CeremonyError
 */
export function readPasskeyKey(cose: Uint8Array): PasskeyKey {
  const key = decode(cose)
  switch (key.get(ALG)) {
    // The platform accepts strict DER only (OpenSSL re-encodes r and s and compares). WebCrypto, and libraries on it, take r and
    // s from anything that looks like DER, so they accept evidence that other verifiers refuse.
    case -7:
      return platformVerifier(-7, p256Of(key))
    case -8: {
      const bytes = ed25519Of(key)
      const plain = writeKey({ algorithm: -8, bytes })
      return {
        algorithm: -8,
        plain,
        verifies: (message, signature) => verifySignature(bytes, message, signature),
      }
    }
    case -257:
      return platformVerifier(-257, rsaOf(key))
    default:
      throw new CeremonyError('the key has an algorithm that is not allowed')
  }
}

function platformVerifier(
  algorithm: -7 | -257,
  { key, bytes }: { key: KeyObject; bytes: Uint8Array },
): PasskeyKey {
  const plain = writeKey({ algorithm, bytes })
  return { algorithm, plain, verifies: (message, signature) => verify('sha256', message, key, signature) }
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

function p256Of(key: Map<unknown, unknown>) {
  const [x, y] = [key.get(X), key.get(Y)]
  const sized = x instanceof Uint8Array && y instanceof Uint8Array && x.length === 32 && y.length === 32
  if (key.get(KTY) !== 2 || key.get(CRV) !== 1 || !sized)
    throw new CeremonyError('an ES256 key must be on P-256')
  const jwk = { kty: 'EC', crv: 'P-256', x: toBase64Url(x), y: toBase64Url(y) }
  return { key: platformKey(jwk), bytes: Uint8Array.from([...x, ...y]) }
}

/** Reads an RSA key without leading zeros (RFC 8230 §4), which would make a short modulus look long. */
function rsaOf(key: Map<unknown, unknown>) {
  const n = key.get(N)
  const e = key.get(E)
  const usual = e instanceof Uint8Array && Buffer.from(e).equals(Buffer.from([1, 0, 1]))
  if (key.get(KTY) !== 3 || !(n instanceof Uint8Array) || !isLong(n) || !usual)
    throw new CeremonyError('an RS256 key must have 2048 bits and the exponent 65537')
  return { key: platformKey({ kty: 'RSA', n: toBase64Url(n), e: toBase64Url(e) }), bytes: n }
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

/** The evidence of a passkey as it was verified: its texts were held to one spelling then (`checkStrictly`). */
export function signedPasskey(evidence: Vote['evidence']): SignedPasskey | undefined {
  if (evidence.type !== 'passkey') return undefined
  const { public_key, client_data_json, authenticator_data, signature, batch_json } = evidence
  return {
    key: readPasskeyKey(fromBase64Url(public_key)).plain,
    client_data: Buffer.from(client_data_json, 'base64url').toString('utf8'),
    authenticator_data,
    signature,
    ...given({ batch: batch_json }),
  }
}

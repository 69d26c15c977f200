import { createHash, createPublicKey, verify as platformVerify } from 'node:crypto'
import { getPublicKey, hashes, sign, verify } from '@noble/ed25519'
import { canBeGenuine } from './strict-ed25519.ts'

hashes.sha512 = (message) => new Uint8Array(createHash('sha512').update(message).digest())

/** DER prefix that makes 32 raw bytes an Ed25519 SubjectPublicKeyInfo (RFC 8410 section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** The 32-byte public key of a 32-byte seed (RFC 8032 section 5.1.5). @throws RangeError for another length. */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  if (seed.length !== 32) throw new RangeError('an Ed25519 seed has 32 bytes')
  return getPublicKey(seed)
}

/** Plain RFC 8032 signature, unchecked: callers outside `sign.ts` want `signBytes`. */
export function rawSign(message: Uint8Array, seed: Uint8Array): Uint8Array {
  return sign(message, seed)
}

/** Verdict of node:crypto alone. It accepts small-order keys before Node 24; see `verifySignature`. */
export function platformAccepts(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, publicKey]), format: 'der', type: 'spki' })
    return platformVerify(null, message, key, signature)
  } catch {
    return false
  }
}

/** Verdict of @noble/ed25519 alone, strict: its default (ZIP 215) lets the identity key "sign" every message. */
export function nobleAccepts(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(signature, message, publicKey, { zip215: false })
  } catch {
    return false
  }
}

/**
 * Strict Ed25519: exact lengths, no small-order key, and both implementations must accept, so that the verdict does not
 * depend on the verifier (`signatureHolds` gives the same one without node:crypto). The cheap platform check comes first, so forgeries cost a tenth. Never throws.
 */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (!canBeGenuine(publicKey, message, signature)) return false
  return platformAccepts(publicKey, message, signature) && nobleAccepts(publicKey, message, signature)
}

import { etc, hashes, Point, verifyAsync } from '@noble/ed25519'
import { isSmallOrder } from './public-key.ts'
import { sameBytes } from './same-bytes.ts'

/** What every verifier here asks before any arithmetic: bytes, exact lengths, no key of small order. */
export function canBeGenuine(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (![publicKey, message, signature].every((bytes) => bytes instanceof Uint8Array)) return false
  return publicKey.length === 32 && signature.length === 64 && !isSmallOrder(publicKey)
}

/**
 * Strict Ed25519 wherever there is WebCrypto, with the verdict of the server's `verifySignature`: @noble/ed25519 accepts
 * (`zip215: false`; its default lets the identity key "sign" every message), and so does the equation without cofactor that
 * node:crypto uses. Noble alone would take signatures with a mixed-order point that the server refuses. Never rejects.
 */
export async function signatureHolds(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (!canBeGenuine(publicKey, message, signature)) return false
  try {
    const accepted = await verifyAsync(signature, message, publicKey, { zip215: false })
    return accepted && (await holdsWithoutCofactor(publicKey, message, signature))
  } catch {
    return false
  }
}

/** RFC 8032 section 5.1.7, its stricter form: [S]B - [k]A, written out, is exactly R. Noble has checked S < L before. */
async function holdsWithoutCofactor(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const R = signature.subarray(0, 32)
  const S = littleEndian(signature.subarray(32))
  const digest = await hashes.sha512Async(etc.concatBytes(R, publicKey, message))
  const k = etc.mod(littleEndian(digest), Point.CURVE().n)
  const A = Point.fromBytes(publicKey, false)
  return sameBytes(Point.BASE.multiply(S, false).subtract(A.multiply(k, false)).toBytes(), R)
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n)
}

import { etc, hashes, Point, verifyAsync } from '@noble/ed25519'
import { sameBytes } from './base64.ts'

/** Verifies a strict signature: `signatureHolds`, or the server's faster `verifySignature`. */
export type Ed25519 = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

/** Checks the types and lengths before any arithmetic, for every verifier here. */
export function hasLengths(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (![publicKey, message, signature].every((bytes) => bytes instanceof Uint8Array)) return false
  return publicKey.length === 32 && signature.length === 64
}

/**
 * Strict Ed25519 on any platform with WebCrypto, with the same verdict as the server's `verifySignature`: @noble/ed25519 must
 * accept (`zip215: false`; its default lets the identity key "sign" every message), and the equation without cofactor, which
 * node:crypto uses, must hold. Noble alone would accept signatures with a mixed-order point that the server refuses. The
 * promise never rejects.
 */
export async function signatureHolds(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (!hasLengths(publicKey, message, signature)) return false
  if (isSmallOrder(publicKey) || hasSmallR(signature)) return false
  try {
    const accepted = await verifyAsync(signature, message, publicKey, { zip215: false })
    return accepted && (await holdsWithoutCofactor(publicKey, message, signature))
  } catch {
    return false
  }
}

/** The stricter check of RFC 8032 section 5.1.7: the encoding of [S]B - [k]A is exactly R. Noble has already checked S < L. */
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

/** Checks whether R, the first half, is of small order. No signer makes one; Node accepts them up to 24.9, but not in 26.12. */
export function hasSmallR(signature: Uint8Array): boolean {
  return isSmallOrder(signature.subarray(0, 32))
}

/** Checks whether S, the second half of the signature, is below the group's order, so that it has only one spelling. */
export function isReduced(signature: Uint8Array): boolean {
  const S = signature.subarray(32)
  return (S[31] ?? 0) < 0x10 || littleEndian(S) < Point.CURVE().n
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n)
}

/** The y coordinates (little-endian, sign bit cleared) of the eight points of small order, in every encoding below 2^255. */
const SMALL_ORDER_Y = new Set([
  `00${'00'.repeat(31)}`, // order 4
  `01${'00'.repeat(31)}`, // the identity
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', // order 8
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', // order 8
  `ec${'ff'.repeat(30)}7f`, // p - 1, order 2
  `ed${'ff'.repeat(30)}7f`, // p, a second spelling of 0
  `ee${'ff'.repeat(30)}7f`, // p + 1, a second spelling of 1
])

/**
 * Checks for a point of small order in any spelling. Under such a "public key", one constant signature can verify for every
 * message, and node:crypto before Node 24 accepts it (RFC 8032 leaves the check to the application).
 */
export function isSmallOrder(publicKey: Uint8Array): boolean {
  const y = Uint8Array.from(publicKey)
  y[31] = (y[31] ?? 0) & 0x7f
  return SMALL_ORDER_Y.has(Array.from(y, (byte) => byte.toString(16).padStart(2, '0')).join(''))
}

/** Checks for a canonically encoded point, not of small order: enough to verify with. `publicKeyProblem` asks for more. */
export function isStrictPoint(publicKey: Uint8Array): boolean {
  if (isSmallOrder(publicKey)) return false
  try {
    // zip215 = false: refuses a second spelling of the same point.
    Point.fromBytes(publicKey, false)
    return true
  } catch {
    return false
  }
}

/** Returns why these bytes are no trustworthy Ed25519 public key; undefined when they are one. For use when loading keys. */
export function publicKeyProblem(publicKey: Uint8Array): string | undefined {
  if (publicKey.length !== 32) return 'must have 32 bytes'
  if (isSmallOrder(publicKey)) return 'is a point of small order'
  try {
    // zip215 = false: refuses a second spelling of the same point.
    return Point.fromBytes(publicKey, false).isTorsionFree()
      ? undefined
      : 'lies outside the prime-order group'
  } catch {
    return 'is not a point of the curve'
  }
}

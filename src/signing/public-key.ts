import { Point } from '@noble/ed25519'

/** The y coordinates (low byte first, sign bit cleared) of the eight points of small order, in every encoding below 2^255. */
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
 * True for a point of small order in any spelling. Under such a "public key" one constant signature can verify for every
 * message, and node:crypto before Node 24 lets it (RFC 8032 leaves the check to the application).
 */
export function isSmallOrder(publicKey: Uint8Array): boolean {
  const y = Uint8Array.from(publicKey)
  y[31] = (y[31] ?? 0) & 0x7f
  return SMALL_ORDER_Y.has(Array.from(y, (byte) => byte.toString(16).padStart(2, '0')).join(''))
}

/** Why these bytes are no trustworthy Ed25519 public key, or undefined when they are one. For keys as they are loaded. */
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

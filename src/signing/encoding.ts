import { createHash, ECDH, timingSafeEqual } from 'node:crypto'
import { fromBase64Url } from './base64.ts'

/** Lower-case hex SHA-256 of bytes, or of a text's UTF-8. */
export function sha256Hex(textOrBytes: string | Uint8Array): string {
  return createHash('sha256').update(textOrBytes).digest('hex')
}

/**
 * Compares two secrets in hex in constant time, so that the timing does not tell where they differ (T53). False when the
 * lengths differ, and for empty texts, which are no secret.
 */
export function equalHex(a: string, b: string): boolean {
  const left = Buffer.from(a, 'utf8')
  const right = Buffer.from(b, 'utf8')
  return left.length === right.length && left.length > 0 && timingSafeEqual(left, right)
}

/**
 * Checks whether the text is the base64url of an uncompressed point on the curve P-256 (SEC 1 §2.3.3). Nothing can be
 * encrypted for any other text.
 */
export function isP256Point(text: string): boolean {
  try {
    const point = fromBase64Url(text)
    if (point.length !== 65 || point[0] !== 4) return false
    ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'uncompressed')
    return true
  } catch {
    return false
  }
}

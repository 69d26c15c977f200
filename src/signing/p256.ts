import { ECDH } from 'node:crypto'
import { fromBase64Url } from './base64.ts'

/**
 * Is the text the base64url of an uncompressed point on the curve P-256 (SEC 1 §2.3.3)? Nothing can be encrypted for any
 * other.
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

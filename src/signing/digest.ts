import { createHash, timingSafeEqual } from 'node:crypto'
import type { Hashing } from './log/merkle.ts'

/** Lower-case hex SHA-256 of bytes, or of a text's UTF-8. */
export function sha256Hex(textOrBytes: string | Uint8Array): string {
  return createHash('sha256').update(textOrBytes).digest('hex')
}

/** Runs a computation of the log's tree at once, by node:crypto; `hashOnWeb` is the same for browsers. */
export function hashOnNode<T>(steps: Hashing<T>): T {
  let step = steps.next()
  while (!step.done) step = steps.next(createHash('sha256').update(step.value).digest())
  return step.value
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

import { createHmac, hkdfSync } from 'node:crypto'

/** HKDF-SHA256 (RFC 5869). `length` in bytes. @throws RangeError above 255 × 32 bytes. */
export function hkdf(
  secret: Uint8Array | string,
  salt: Uint8Array | string,
  info: Uint8Array | string,
  length = 32,
): Buffer {
  if (length > 255 * 32) throw new RangeError('HKDF-SHA256 gives at most 8160 bytes')
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length))
}

/** HMAC-SHA256 (RFC 2104), 32 bytes; texts count as UTF-8. */
export function hmacSha256(key: Uint8Array | string, message: Uint8Array | string): Buffer {
  return createHmac('sha256', key).update(message).digest()
}

/**
 * Webhook secret of one API key, 64 hex characters. Derived, so nothing secret is stored; `counter` rises at each rotation.
 * The HMAC key is the ASCII bytes of this text, as receivers use it.
 */
export function webhookSecret(master: Uint8Array | string, keyId: string, counter: number): string {
  if (!Number.isSafeInteger(counter) || counter < 0)
    throw new RangeError('rotation counter must be a whole number')
  return hkdf(master, 'human-approval/webhook/v1', `key:${keyId}:${counter}`, 32).toString('hex')
}

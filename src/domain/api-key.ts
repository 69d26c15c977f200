import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'
import type { KeyPolicy } from './policy.ts'

export const SCOPES = ['approval:create', 'approval:read', 'approval:verify'] as const
export type Scope = (typeof SCOPES)[number]

/** An API key as it is stored, without the raw key. */
export interface ApiKey {
  id: string
  account_id: string
  name: string
  /** HMAC-SHA256 of the raw key under the pepper; absent on the internal pseudo-key, which no header can name. */
  key_hash?: string
  /** First 14 characters of the raw key. */
  key_prefix: string
  scopes: Scope[]
  sandbox: boolean
  /** Narrows the account's policy for the requests of this key; absent: only the account's policy applies. */
  policy?: KeyPolicy
  /** The key belongs to a source-control integration: all its requests are high impact. */
  source_control?: true
  /** The account's pseudo-key for the internal service token, which thereby gets limits, quota and a webhook secret. */
  internal?: true
  /** Rotation counter of the derived webhook secret. */
  secret_version: number
  /** Its place among the account's live keys; absent once it is revoked. */
  slot?: number
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** Random bytes of a raw key: 256 bits. */
export const RAW_KEY_BYTES = 32

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Base-62 digits that hold 256 bits, and 32 bits. */
const SECRET_DIGITS = 43
const CHECK_DIGITS = 6

/**
 * Makes a raw key: `sa_live_` or `sa_test_`, 43 random base-62 digits, and the CRC-32 of all that in 6 digits. So a mistyped
 * key is refused without a query, and secret scanners can recognise a real one.
 */
export function formatApiKey(sandbox: boolean, random: Uint8Array): string {
  if (random.length !== RAW_KEY_BYTES) throw new RangeError(`a key takes ${RAW_KEY_BYTES} random bytes`)
  const secret = random.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  const body = `${sandbox ? 'sa_test_' : 'sa_live_'}${base62(secret, SECRET_DIGITS)}`
  return body + base62(BigInt(crc32(body)), CHECK_DIGITS)
}

/** Checks whether a text has the form of a key, with a valid checksum. Does not tell whether the key exists. */
export function isWellFormedApiKey(text: string): boolean {
  if (!/^sa_(?:live|test)_[0-9A-Za-z]{49}$/.test(text)) return false
  const body = text.slice(0, -CHECK_DIGITS)
  return text === body + base62(BigInt(crc32(body)), CHECK_DIGITS)
}

/** Returns the leading characters that are kept and shown: enough to tell keys apart, far too few to guess one. */
export function keyPrefix(raw: string): string {
  return raw.slice(0, 14)
}

function base62(value: bigint, digits: number): string {
  let text = ''
  for (let rest = value; text.length < digits; rest /= 62n) text = BASE62.charAt(Number(rest % 62n)) + text
  return text
}

/** Computes the CRC-32 of ISO 3309 (polynomial 0xEDB88320, reflected) over ASCII text. */
function crc32(text: string): number {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index)
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { HashPurpose, Vault } from '../ports/ports.ts'
import { fromBase64Url, toBase64Url } from './base64.ts'

/** The service's secrets, each at least 32 bytes. */
export interface VaultSecrets {
  API_KEY_PEPPER: Uint8Array
  TOKEN_SECRET: Uint8Array
  SEALING_KEY: Uint8Array
  WEBHOOK_MASTER_SECRET: Uint8Array
}

/** Derives one key per use and keeps the secrets to itself. */
export function createVault(secrets: VaultSecrets): Vault {
  const sealingKey = hkdf(secrets.SEALING_KEY, 'human-approval/seal/v1', '', 32)
  const tokenKey = (purpose: HashPurpose) =>
    hkdf(secrets.TOKEN_SECRET, 'human-approval/token/v1', purpose, 32)
  const keys: Record<HashPurpose, Buffer> = {
    'api-key': hkdf(secrets.API_KEY_PEPPER, 'human-approval/api-key/v1', '', 32),
    session: tokenKey('session'),
    device: tokenKey('device'),
    enrollment: tokenKey('enrollment'),
    'backup-code': tokenKey('backup-code'),
    approver: tokenKey('approver'),
    'internal-token': tokenKey('internal-token'),
    'chat-link': tokenKey('chat-link'),
    bootstrap: tokenKey('bootstrap'),
    'bootstrap-email': tokenKey('bootstrap-email'),
    'push-endpoint': tokenKey('push-endpoint'),
    'mail-code': tokenKey('mail-code'),
  }
  return {
    hash: (purpose, value) => hmacSha256(keys[purpose], value).toString('hex'),
    seal: (plaintext, aad) => seal(plaintext, sealingKey, aad),
    open: (sealed, aad) => open(sealed, sealingKey, aad),
    webhookSecret: (keyId, version) => webhookSecret(secrets.WEBHOOK_MASTER_SECRET, keyId, version),
    fingerprints: () => ({
      API_KEY_PEPPER: fingerprint(secrets.API_KEY_PEPPER),
      TOKEN_SECRET: fingerprint(secrets.TOKEN_SECRET),
      WEBHOOK_MASTER_SECRET: fingerprint(secrets.WEBHOOK_MASTER_SECRET),
    }),
  }
}

function fingerprint(secret: Uint8Array): string {
  return hkdf(secret, 'human-approval/fingerprint/v1', '', 8).toString('hex')
}

/** The sealed value was altered, belongs to another owner, or was sealed with another key. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals bytes as `v1.<iv>.<ciphertext+tag>` (base64url). `aad` names the owner (`signing-key:<purpose>:<kid>`, a user id):
 * if someone with write access to the database swaps two sealed values, neither opens any more.
 * @throws RangeError unless the key has 32 bytes.
 */
export function seal(plaintext: Uint8Array, key: Uint8Array, aad: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key32(key), iv, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(aad, 'utf8'))
  const body = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  return `v1.${toBase64Url(iv)}.${toBase64Url(body)}`
}

/** Opens a value from `seal`. @throws SealError when the text was altered, or for another key or owner. */
export function open(sealed: string, key: Uint8Array, aad: string): Uint8Array {
  key32(key)
  try {
    const { iv, body } = split(sealed)
    const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(aad, 'utf8'))
    decipher.setAuthTag(body.subarray(-TAG_BYTES))
    return new Uint8Array(Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]))
  } catch (cause) {
    throw new SealError('sealed value does not open for this owner and key', { cause })
  }
}

function split(sealed: string): { iv: Uint8Array; body: Uint8Array } {
  const [version, ivText, bodyText, ...rest] = sealed.split('.')
  if (version !== 'v1' || ivText === undefined || bodyText === undefined || rest.length > 0) {
    throw new SealError('not a v1 sealed value')
  }
  const iv = fromBase64Url(ivText)
  const body = fromBase64Url(bodyText)
  // GCM also accepts IVs of other lengths, and short ones repeat. A short tag fails on `authTagLength`.
  if (iv.length !== IV_BYTES) throw new SealError('sealed value has a wrong IV')
  return { iv, body }
}

function key32(key: Uint8Array): Uint8Array {
  if (key.length !== 32) throw new RangeError('a sealing key has 32 bytes')
  return key
}

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

/** HMAC-SHA256 (RFC 2104), 32 bytes; texts are taken as UTF-8. */
export function hmacSha256(key: Uint8Array | string, message: Uint8Array | string): Buffer {
  return createHmac('sha256', key).update(message).digest()
}

/**
 * Derives the webhook secret of an API key, 64 hex characters, so that no secret is stored; `counter` rises at each rotation.
 * The HMAC key is the ASCII bytes of this text, because receivers use it that way.
 */
export function webhookSecret(master: Uint8Array | string, keyId: string, counter: number): string {
  if (!Number.isSafeInteger(counter) || counter < 0)
    throw new RangeError('rotation counter must be a whole number')
  return hkdf(master, 'human-approval/webhook/v1', `key:${keyId}:${counter}`, 32).toString('hex')
}

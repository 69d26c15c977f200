import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { fromBase64Url, toBase64Url } from './base64.ts'

/** The sealed text was altered, belongs to another owner, or was sealed with another key. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals bytes as `v1.<iv>.<ciphertext+tag>` (base64url). `aad` names the owner (`signing-key:<purpose>:<kid>`, a user id):
 * a database writer who swaps two sealed values gets two that no longer open.
 * @throws RangeError unless the key has 32 bytes.
 */
export function seal(plaintext: Uint8Array, key: Uint8Array, aad: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key32(key), iv, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(aad, 'utf8'))
  const body = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  return `v1.${toBase64Url(iv)}.${toBase64Url(body)}`
}

/** Opens what `seal` wrote. @throws SealError when the text, the key or the owner is not the one that was sealed. */
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
  // GCM takes IVs of other lengths too, and short ones repeat. A short tag fails on `authTagLength`.
  if (iv.length !== IV_BYTES) throw new SealError('sealed value has a wrong IV')
  return { iv, body }
}

function key32(key: Uint8Array): Uint8Array {
  if (key.length !== 32) throw new RangeError('a sealing key has 32 bytes')
  return key
}

import { toBase64Url } from './base64.ts'
import { type Ed25519, signatureHolds } from './ed25519-web.ts'
import { JwksError, readJwks, thumbprintText } from './jwks.ts'
import type { VerificationKey } from './key-record.ts'
import { type CheckTrace, checkOfReading, type ReceiptCheck, type VerifyOptions } from './receipt-checks.ts'
import { ReceiptError, type ReceiptRefusal, refuse } from './receipt-error.ts'
import { parseReceiptInput, type ReceiptInput } from './receipt-input.ts'
import { hashedTexts, type Judgement, judgeReceipt, locateKey } from './verify-core.ts'

/** A judgement; `input` is the receipt as read, absent when it could not be read. */
export interface Examination extends Judgement {
  input?: ReceiptInput
}

/**
 * `verifyReceiptJson` for every platform with WebCrypto: returns the same verdict, and which checks were made. No content of
 * the JSON makes the promise reject.
 */
export async function examineReceipt(
  json: unknown,
  keys: readonly VerificationKey[],
  options: VerifyOptions = {},
): Promise<Examination> {
  let input: ReceiptInput
  try {
    input = parseReceiptInput(json)
  } catch (error) {
    return stopped(refuse(error instanceof ReceiptError ? error.code : 'receipt_unreadable'))
  }
  return { ...(await examineInput(input, keys, options)), input }
}

/** Does the same as `examineReceipt` for a receipt already read. */
export async function examineInput(
  input: ReceiptInput,
  keys: readonly VerificationKey[],
  options: VerifyOptions = {},
  ed25519: Ed25519 = signatureHolds,
): Promise<Judgement> {
  const found = locateKey(input, keys)
  if (!('located' in found)) return stopped(found)
  const genuine = await ed25519(found.key.publicKey, input.payload, input.signature)
  const texts = hashedTexts(input, options)
  const digests = await Promise.all(texts.map(sha256Hex))
  const hashed = new Map(texts.map((text, index) => [text, digests[index] ?? '']))
  return judgeReceipt(found, genuine, (text) => hashed.get(text) ?? '', options)
}

/**
 * `parseJwks` for every platform with WebCrypto. Rejects with JwksError for malformed, weak, private or repeated keys, and
 * for a kid that is not the key's own thumbprint.
 */
export async function examineJwks(json: unknown): Promise<VerificationKey[]> {
  const keys = readJwks(json)
  for (const key of keys) {
    const thumbprint = toBase64Url(await sha256(thumbprintText(key.publicKey)))
    if (key.kid !== thumbprint)
      throw new JwksError(`kid ${key.kid} is not the RFC 7638 thumbprint of its key`)
  }
  return keys
}

/** Lower-case hex SHA-256 of a text's UTF-8 bytes. */
async function sha256Hex(text: string): Promise<string> {
  return Array.from(await sha256(text), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** Traces a refusal of the reading, in the order `form`, `encoding`, `key`; a non-text intent is refused before `key`. */
function stopped(result: ReceiptRefusal): Judgement {
  const failed = checkOfReading(result.code)
  const read: readonly ReceiptCheck[] = failed === 'form' ? [] : failed === 'encoding' ? ['form'] : BEFORE_KEY
  const outcomes: CheckTrace['outcomes'] = new Map(read.map((check) => [check, 'passed']))
  return { result, outcomes, failed }
}

const BEFORE_KEY = ['form', 'encoding'] as const

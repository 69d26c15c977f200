import { sha256Hex } from './digest.ts'
import { verifySignature, verifySignatureAside } from './ed25519-node.ts'
import type { VerificationKey } from './key-record.ts'
import type { VerifyOptions } from './receipt-checks.ts'
import { ReceiptError, refuse } from './receipt-error.ts'
import { parseReceiptInput, type ReceiptInput } from './receipt-input.ts'
import { judgeReceipt, locateKey, type VerifyResult } from './verify-core.ts'

/**
 * Verifies a receipt against pinned keys, in one fixed order: key, signature, canonical form, version and fields,
 * times, key purpose and validity, sandbox, claims next to the receipt, the caller's expectations. Never throws.
 */
export function verifyReceipt(
  input: ReceiptInput,
  keys: readonly VerificationKey[],
  options: VerifyOptions = {},
): VerifyResult {
  const found = locateKey(input, keys)
  if (!('located' in found)) return found
  const signatureValid = verifySignature(found.key.publicKey, input.payload, input.signature)
  return judgeReceipt(found, signatureValid, sha256Hex, options).result
}

/** Combines `parseReceiptInput` and `verifyReceipt`: takes the JSON as received, and never throws. */
export function verifyReceiptJson(
  json: unknown,
  keys: readonly VerificationKey[],
  options: VerifyOptions = {},
): VerifyResult {
  try {
    return verifyReceipt(parseReceiptInput(json), keys, options)
  } catch (error) {
    return refuse(error instanceof ReceiptError ? error.code : 'receipt_unreadable')
  }
}

/** Does what `verifyReceiptJson` does, with the signature on another thread: for many receipts at once. */
export async function verifyReceiptAside(
  json: unknown,
  keys: readonly VerificationKey[],
  options: VerifyOptions = {},
): Promise<VerifyResult> {
  try {
    const input = parseReceiptInput(json)
    const found = locateKey(input, keys)
    if (!('located' in found)) return found
    const holds = await verifySignatureAside(found.key.publicKey, input.payload, input.signature)
    return judgeReceipt(found, holds, sha256Hex, options).result
  } catch (error) {
    return refuse(error instanceof ReceiptError ? error.code : 'receipt_unreadable')
  }
}

/** Every reason to refuse a receipt, with the sentence shown for it. Closed: verifiers branch on the code. */
export const RECEIPT_ERRORS = {
  receipt_unreadable:
    'This is not a signed_receipt, a decision or a verify answer; pass one of these three exactly as you received it.',
  receipt_not_decided:
    'This request is not decided, so there is no receipt; wait for the decision, unless it has expired.',
  receipt_payload_malformed: 'The signed payload cannot be decoded; it was truncated, re-encoded or altered.',
  receipt_signature_malformed:
    'The signature is not the standard padded base64 of 64 bytes; it was truncated, re-encoded or altered.',
  receipt_key_missing: 'The receipt does not name its key; pass it together with its public_key_id.',
  receipt_key_unknown:
    'The key of this receipt is not in the key set; get key sets only from the service itself, never together with a receipt. Fetch it again if the service has rotated its keys since.',
  receipt_key_mismatch: 'The key id and the public key in the receipt do not match.',
  receipt_signature_invalid:
    'The signature does not match the payload and key; the receipt was altered or forged.',
  receipt_payload_not_canonical:
    'The signed bytes are not RFC 8785 JSON, so this service did not write them.',
  receipt_version_unsupported:
    'The payload has a format version this verifier does not know; update the verifier.',
  receipt_payload_invalid: 'The signed payload does not have exactly the fields of format 1.',
  receipt_time_invalid: 'The decision time is after the expiry of the request.',
  receipt_key_purpose_mismatch:
    'The key may not sign this kind of receipt: live and sandbox decisions have different keys.',
  receipt_key_not_yet_valid: 'The decision time is before the key came into use.',
  receipt_key_revoked: 'The decision time is at or after the revocation of the key.',
  receipt_key_expired: 'The decision time is after the key went out of use.',
  receipt_sandbox_refused:
    'This is a sandbox receipt: no person decided; allow sandbox receipts only in tests.',
  receipt_intent_mismatch:
    'The nonce of the receipt does not commit to the intent next to it; the action and context in that intent are not signed.',
  receipt_content_unproven:
    'The receipt is genuine, but its intent is missing, so nothing proves that it is about this action and context; pass the answer of GET /api/v1/approvals/:id exactly as you received it.',
  receipt_contradicts_payload: 'The data around the receipt differ from the signed data.',
  receipt_votes_disagree: 'The votes next to the receipt are invalid, or do not belong together.',
  receipt_unexpected: 'The receipt is genuine but is not the one expected here.',
  receipt_from_future: 'The decision time is in the future; check the clocks.',
} as const

/** Stable code of a refusal. */
export type ReceiptErrorCode = keyof typeof RECEIPT_ERRORS

/** A refusal; `field` names the wrong field, if it is a single one. */
export interface ReceiptRefusal {
  valid: false
  code: ReceiptErrorCode
  message: string
  field?: string
}

/** Messages that replace the table's for fields that people read themselves. */
const CONTRADICTED: ReadonlyMap<string | undefined, string> = new Map([
  ['action', 'The action shown here is not the one that was signed.'],
  ['context', 'The details (context) shown here are not those that were signed.'],
])

/** Builds a refusal with the table's sentence; a contradiction names its field. */
export function refuse(code: ReceiptErrorCode, field?: string): ReceiptRefusal {
  const named = code === 'receipt_contradicts_payload' && field !== undefined
  const message = named
    ? (CONTRADICTED.get(field) ?? `The field “${field}” shown here is not what was signed.`)
    : RECEIPT_ERRORS[code]
  return { valid: false, code, message, ...(field === undefined ? {} : { field }) }
}

/** Thrown by `parseReceiptInput`. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError'
  readonly code: ReceiptErrorCode

  constructor(code: ReceiptErrorCode, options?: ErrorOptions) {
    super(RECEIPT_ERRORS[code], options)
    this.code = code
  }
}

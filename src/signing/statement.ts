import type { ReceiptPayload } from '../domain/receipt.ts'

/** What the intent next to a receipt adds: the whole action, the hash of the context, and who acted for the approver. */
export interface Statement {
  action: string
  context_sha256: string
  /** Reference of a delegate. */
  delegate?: string
}

/** Fields an intent and the payload it was signed with both hold. */
const SHARED = ['rid', 'decision', 'approver', 'exp'] as const

/**
 * Opens the commitment of a receipt: is this the text whose hash the signed `nonce` shortens, and does it agree with the
 * payload? Only then what it says of action and context is as good as signed.
 * @param intentText RFC 8785 text of the intent, as handed out with the decision
 * @param sha256Hex of a text's UTF-8 bytes
 * @returns undefined when it is another text
 */
export function openStatement(
  payload: ReceiptPayload,
  intentText: string,
  sha256Hex: (text: string) => string,
): Statement | undefined {
  if (sha256Hex(intentText).slice(0, 32) !== payload.nonce) return undefined
  const intent = parseObject(intentText)
  if (intent === undefined || SHARED.some((field) => intent.get(field) !== payload[field])) return undefined
  const action = intent.get('action')
  const context = intent.get('context_sha256')
  if (typeof action !== 'string' || typeof context !== 'string') return undefined
  const delegate = intent.get('delegate')
  return { action, context_sha256: context, ...(typeof delegate === 'string' ? { delegate } : {}) }
}

function parseObject(text: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? new Map(Object.entries(value)) : undefined
  } catch {
    return undefined
  }
}

import { isId } from '../domain/identifier.ts'
import type { ReceiptPayload } from '../domain/receipt.ts'

type Check = (value: unknown) => boolean

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
const unixSeconds: Check = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Exact shape of every field of payload v1. */
const FIELDS: Record<Exclude<keyof ReceiptPayload, 'sandbox'>, Check> = {
  v: (value) => value === 1,
  rid: (value) => isId('req', value),
  did: (value) => isId('dec', value),
  approver: matches(/^[0-9a-f]{16}$/),
  action: matches(/^[0-9a-f]{16}$/),
  decision: matches(/^(?:approved|rejected)$/),
  method: matches(/^(?:passkey|totp|sandbox)$/),
  ts: unixSeconds,
  exp: unixSeconds,
  nonce: matches(/^[0-9a-f]{32}$/),
}

/**
 * The first field that keeps a value from being payload v1, or undefined when it is exactly that: all fields, no other,
 * and `sandbox: true` if and only if the method is `sandbox`.
 */
export function payloadProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'payload'
  const fields = new Map<string, unknown>(Object.entries(value))
  for (const [name, check] of Object.entries(FIELDS)) {
    if (!check(fields.get(name))) return name
  }
  const foreign = [...fields.keys()].find((name) => !Object.hasOwn(FIELDS, name) && name !== 'sandbox')
  if (foreign !== undefined) return foreign
  const marked = fields.has('sandbox')
  if (marked && fields.get('sandbox') !== true) return 'sandbox'
  return marked === (fields.get('method') === 'sandbox') ? undefined : 'sandbox'
}

/** Narrows a parsed value by `payloadProblem`. */
export function isReceiptPayload(value: unknown): value is ReceiptPayload {
  return payloadProblem(value) === undefined
}

import { canonicalize } from '../../../src/signing/canonical.ts'
import { type Review, reviewShape } from '../api/contract.ts'
import { get } from '../api/request.ts'
import { sha256Hex } from '../passkey/sha256.ts'
import { isJsonObject, type JsonValue } from '../show/json-value.ts'

/** What was received contradicts itself, so deciding on it would sign something unseen (T16). The page stops. */
export class MismatchError extends Error {
  override readonly name = 'MismatchError'
}

/** A request as this browser checked it: `context` is parsed from the very text whose hash is signed. */
export interface CheckedReview {
  review: Review
  context: { [key: string]: JsonValue }
  /** Server time in milliseconds minus `performance.now()` when the answer came. */
  clock: number
}

/** Loads a request and recomputes the hash of its context. @throws MismatchError, RequestFailure, ShapeError */
export async function loadReview(id: string): Promise<CheckedReview> {
  const review = await get(`/approvals/${id}/review`, reviewShape)
  const clock = Date.parse(review.server_time) - performance.now()
  if (review.id !== id) throw new MismatchError('The service answered for another request.')
  const context = parseContext(review.context_json)
  if (context === undefined)
    throw new MismatchError('The details of the request are not in their canonical form.')
  if ((await sha256Hex(review.context_json)) !== review.context_sha256) {
    throw new MismatchError('The details of the request do not have the fingerprint that would be signed.')
  }
  return { review, context, clock }
}

/** Undefined unless the text is exactly the RFC 8785 form of an object: then no second reading of it exists. */
function parseContext(json: string): { [key: string]: JsonValue } | undefined {
  try {
    const value = JSON.parse(json) as JsonValue
    return isJsonObject(value) && canonicalize(value) === json ? value : undefined
  } catch {
    return undefined
  }
}

const FIXED = ['action', 'context_json', 'created_at', 'expires_at', 'high_impact', 'approver'] as const

/** A request never changes after its creation. @throws MismatchError when a later answer shows other content. */
export function assertSameRequest(before: Review, after: Review): void {
  const changed = FIXED.find((name) => before[name] !== after[name])
  if (changed !== undefined)
    throw new MismatchError(`The request changed while you were reading it (${changed}).`)
}

import type { Decision, Review } from '../api/contract.ts'

/** The form of `GET /approvals/:id`, with the intents, by which `countersign verify` also proves action and context. */
export function receiptFile(review: Review, decision: Decision): object {
  const { id, status, action, context_json, created_at, expires_at, sandbox } = review
  const context: unknown = JSON.parse(context_json)
  return {
    ...{ id, status, action, context, created_at, expires_at, decision },
    ...(sandbox === true ? { sandbox: true } : {}),
  }
}

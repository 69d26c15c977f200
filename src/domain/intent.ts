import type { Outcome } from './receipt.ts'

/** Version tag of the decision intent; another ceremony (sign-in, enrolment, batch) has another tag and can never be swapped in. */
const INTENT_TYPE = 'human-approval/intent/v1'

/**
 * The full statement a person consents to. The WebAuthn challenge is SHA-256 of its RFC 8785 form and the receipt's
 * `nonce` is the same hash shortened, so neither the action's tail nor the context can be exchanged afterwards.
 * The salt is drawn after the caller's text is fixed: a caller cannot search for two texts with one commitment.
 */
export interface DecisionIntent {
  typ: typeof INTENT_TYPE
  /** The service that asks: its BASE_URL. */
  aud: string
  rid: string
  decision: Outcome
  /** Approver reference, 16 hex characters. */
  approver: string
  /** Set when a delegate acts: the reference of the person who acts; `approver` is whom it counts for. */
  delegate?: string
  /** The whole action text, unshortened. */
  action: string
  /** Hex SHA-256 of the stored RFC 8785 text of the context. */
  context_sha256: string
  /** ISO 8601 UTC with milliseconds. */
  request_created_at: string
  /** Unix seconds. */
  exp: number
  high_impact: boolean
  /** 32 random bytes, base64url without padding. */
  salt: string
}

/** What the intent is made of; the service adds its own name and a fresh salt. */
export interface IntentFacts {
  audience: string
  requestId: string
  decision: Outcome
  approverRef: string
  delegateRef?: string | undefined
  action: string
  contextSha256: string
  requestCreatedAt: Date
  expiresAt: Date
  highImpact: boolean
  salt: string
}

/** Builds the statement for one decision attempt. */
export function buildIntent(facts: IntentFacts): DecisionIntent {
  return {
    typ: INTENT_TYPE,
    aud: facts.audience,
    rid: facts.requestId,
    decision: facts.decision,
    approver: facts.approverRef,
    ...(facts.delegateRef === undefined ? {} : { delegate: facts.delegateRef }),
    action: facts.action,
    context_sha256: facts.contextSha256,
    request_created_at: facts.requestCreatedAt.toISOString(),
    exp: Math.floor(facts.expiresAt.getTime() / 1000),
    high_impact: facts.highImpact,
    salt: facts.salt,
  }
}

import type { Outcome } from './receipt.ts'

/** Another tag than a decision's: neither can be taken for the other. */
const INTENT_TYPE = 'human-approval/bootstrap/v1'

/**
 * What the owner consents to when an agent asks for a key (security §5.10). The WebAuthn challenge is SHA-256 of its RFC 8785
 * form; `salt` is drawn after everything else is fixed. All values are text or numbers, so that the page can compare each.
 */
export interface ConsentIntent {
  typ: typeof INTENT_TYPE
  /** The service that asks: its BASE_URL. */
  aud: string
  /** `bst_…` */
  bst: string
  decision: Outcome
  /** Approver reference of the owner, 16 hex characters. */
  approver: string
  client_name: string
  /** With blanks between them. */
  scopes: string
  /** The matching code that the owner entered; null when they reject, which takes none. */
  code: string | null
  /** ISO 8601 UTC with milliseconds. */
  requested_at: string
  /** Unix seconds. */
  exp: number
  /** 32 random bytes, base64url without padding. */
  salt: string
}

/** Builds the statement of one consent attempt. */
export function buildConsentIntent(facts: {
  audience: string
  bootstrap: {
    id: string
    client_name: string
    scopes: readonly string[]
    code: string
    created_at: Date
    expires_at: Date
  }
  decision: Outcome
  approverRef: string
  salt: string
}): ConsentIntent {
  const { bootstrap, decision } = facts
  return {
    typ: INTENT_TYPE,
    aud: facts.audience,
    bst: bootstrap.id,
    decision,
    approver: facts.approverRef,
    client_name: bootstrap.client_name,
    scopes: bootstrap.scopes.join(' '),
    code: decision === 'approved' ? bootstrap.code : null,
    requested_at: bootstrap.created_at.toISOString(),
    exp: Math.floor(bootstrap.expires_at.getTime() / 1000),
    salt: facts.salt,
  }
}

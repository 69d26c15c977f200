import type { Outcome } from './receipt.ts'

/** Another tag than a single decision's: neither can be taken for the other. */
const INTENT_TYPE = 'human-approval/batch/v1'

/** Requests that one gesture may decide. */
export const MAX_BATCH = 50

/**
 * What a person consents to when one gesture decides many requests: the hash of each request's own intent, so that no line
 * can be exchanged, added or left out (T18). The WebAuthn challenge is SHA-256 of its RFC 8785 form.
 */
export interface BatchIntent {
  typ: typeof INTENT_TYPE
  /** The service that asks: its BASE_URL. */
  aud: string
  /** Reference of who acts, 16 hex characters; whose vote each one is says its own intent. */
  approver: string
  /** In the order in which they were asked for. */
  items: BatchItem[]
  /** 32 random bytes, base64url without padding. */
  salt: string
}

interface BatchItem {
  rid: string
  decision: Outcome
  /** Hex SHA-256 of the RFC 8785 text of the request's intent; its first 32 characters are the receipt's `nonce`. */
  intent_sha256: string
}

/** Builds the statement of one batch. */
export function buildBatchIntent(facts: {
  audience: string
  approverRef: string
  items: readonly BatchItem[]
  salt: string
}): BatchIntent {
  return {
    typ: INTENT_TYPE,
    aud: facts.audience,
    approver: facts.approverRef,
    items: facts.items.map(({ rid, decision, intent_sha256 }) => ({ rid, decision, intent_sha256 })),
    salt: facts.salt,
  }
}

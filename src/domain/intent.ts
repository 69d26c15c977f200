import type { StatedAttachment } from './attachment.ts'
import type { Bootstrap } from './bootstrap.ts'
import type { Outcome } from './receipt.ts'
import type { Reversibility } from './request.ts'

/** Version tag of the decision intent. Other ceremonies (sign-in, enrolment, batch) have other tags; none can be swapped in. */
const INTENT_TYPE = 'human-approval/intent/v2'

/** Tag of a statement with `use_within_seconds`: a verifier that does not know the field must not take the approval for a lasting one. */
const LAPSING_TYPE = 'human-approval/intent/v3'

/** Tag of a statement with `attachments`, for the same reason. */
const ATTACHED_TYPE = 'human-approval/intent/v4'

/**
 * The full statement a person consents to. The WebAuthn challenge is SHA-256 of its RFC 8785 form and the receipt's
 * `nonce` is the same hash shortened, so neither the action's tail nor the context can be exchanged afterwards.
 * The salt is drawn after the caller's text is fixed, so a caller cannot search for two texts with the same hash.
 */
export interface DecisionIntent {
  typ: typeof INTENT_TYPE | typeof LAPSING_TYPE | typeof ATTACHED_TYPE
  /** The service that asks: its BASE_URL. */
  aud: string
  rid: string
  decision: Outcome
  /** Approver reference, 16 hex characters. */
  approver: string
  /** Set when a delegate acts: the delegate's reference; `approver` is then the person whose vote it is. */
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
  /** Who asked: the API key (`key_…`), its name when it asked, and its account (`acc_…`). */
  requester: { key: string; name: string; account: string }
  /**
   * Hex SHA-256 of the RFC 8785 text of `{approvers, passkey_only, quorum}` and, where the policy has them, `confirmed_only` and
   * `authenticators`: the rules of who may decide, as the page showed them.
   */
  policy_sha256: string
  /** How many different approvers must approve. */
  quorum: number
  /** The relying party for which the decision is meant, if the caller named one. */
  audience?: string
  /** How far the caller said the action can be undone. */
  reversibility?: Reversibility
  /** From version 3 on: seconds from the decision in which an approval can be used. */
  use_within_seconds?: number
  /** Version 4 only: in the order of the create; at least one. */
  attachments?: StatedAttachment[]
  /** 32 random bytes, base64url without padding. */
  salt: string
}

/** The former version of the decision intent; receipts made under it still verify. */
export type DecisionIntentV1 = Omit<
  DecisionIntent,
  | 'typ'
  | 'requester'
  | 'policy_sha256'
  | 'quorum'
  | 'audience'
  | 'reversibility'
  | 'use_within_seconds'
  | 'attachments'
> & { typ: 'human-approval/intent/v1' }

/** Builds the statement for one decision attempt. */
export function buildIntent(facts: Omit<DecisionIntent, 'typ'>): DecisionIntent {
  const plain = facts.use_within_seconds === undefined ? INTENT_TYPE : LAPSING_TYPE
  return { typ: facts.attachments === undefined ? plain : ATTACHED_TYPE, ...facts }
}

/** Differs from the tag of a single decision, so neither can be taken for the other. */
const BATCH_TYPE = 'human-approval/batch/v1'

/** Most requests that one gesture may decide. */
export const MAX_BATCH = 50

/**
 * The statement to which a person consents when one gesture decides many requests. It lists the hash of each intent, so no line
 * can be exchanged, added or left out (T18). The WebAuthn challenge is SHA-256 of its RFC 8785 form.
 */
export interface BatchIntent {
  typ: typeof BATCH_TYPE
  /** The service that asks: its BASE_URL. */
  aud: string
  /** Reference of the person who acts, 16 hex characters; each item's own intent says whose vote it is. */
  approver: string
  /** In the order of the items in the call that started the batch. */
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
export function buildBatchIntent(facts: Omit<BatchIntent, 'typ'>): BatchIntent {
  return { typ: BATCH_TYPE, ...facts }
}

/** Differs from the tag of a decision, so neither can be taken for the other. */
const CONSENT_TYPE = 'human-approval/bootstrap/v1'

/**
 * The statement the owner consents to when an agent asks for a key (security §5.10). The challenge is SHA-256 of its RFC 8785
 * form; `salt` is drawn after everything else is fixed. All values are text or numbers, so that the page can compare each.
 */
export interface ConsentIntent {
  typ: typeof CONSENT_TYPE
  /** The service that asks: its BASE_URL. */
  aud: string
  /** `bst_…` */
  bst: string
  decision: Outcome
  /** Approver reference of the owner, 16 hex characters. */
  approver: string
  client_name: string
  /** Separated by blanks. */
  scopes: string
  /** The matching code that the owner entered; null for a rejection, which takes none. */
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
  bootstrap: Pick<Bootstrap, 'id' | 'client_name' | 'scopes' | 'code' | 'created_at' | 'expires_at'>
  decision: Outcome
  approverRef: string
  salt: string
}): ConsentIntent {
  const { bootstrap, decision } = facts
  return {
    typ: CONSENT_TYPE,
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

import type { Scope } from './account.ts'
import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'
import type { Outcome } from './receipt.ts'
import type { Evidence } from './request.ts'

export type BootstrapStatus = 'pending' | Outcome | 'expired'

/** What the owner said, with what proves it. Nothing of it is signed by the service: the key itself is the outcome. */
export interface Consent {
  decision: Outcome
  method: 'passkey' | 'totp'
  at: Date
  user_id: string
  /** RFC 8785 text of the statement whose SHA-256 was the challenge. */
  intent_json: string
  evidence: Evidence
}

/** An agent's request for an API key of its own, as it is stored (interface, "Bootstrap request"; security §5.10). */
export interface Bootstrap {
  /** `bst_…`: names it to the owner, opens nothing. The caller's `bootstrap_id` is another, and is not stored. */
  id: string
  /** Raised with every change that the owner is shown. */
  version: number
  /** Keyed hash of the `bootstrap_id`. */
  secret_hash: string
  /** Absent on a decoy: nobody has the e-mail address that was named. */
  account_id?: string
  /** The one of `PENDING_SLOTS` places of its e-mail address that it holds while it is pending. */
  slot?: string
  status: BootstrapStatus
  /** The caller's own word. */
  client_name: string
  /** Eight letters, see `matching-code.ts`. */
  code: string
  scopes: Scope[]
  /** Base64url SHA-256 of the verifier that every poll must then prove (RFC 7636, S256). */
  code_challenge?: string
  requester: { address: string; user_agent: string }
  wrong_codes: number
  created_at: Date
  expires_at: Date
  consent?: Consent
  /** From approval on: the id the key will have, so that however many polls come at once make one. */
  key_id?: string
  /** An approval that nobody used is worth nothing from then on. */
  collect_by?: Date
  collected?: { at: Date; address?: string }
  polled_at?: Date
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** What a key made this way may do (interface, endpoint 6). */
export const BOOTSTRAP_SCOPES = ['approval:create', 'approval:read'] as const satisfies readonly Scope[]

export const BOOTSTRAP_MINUTES = 10

/** How long after consent the key can be collected. */
export const COLLECT_MINUTES = 10

/** Requests for one e-mail address that can wait at a time. */
export const PENDING_SLOTS = 3

/** Requests for one e-mail address in an hour (interface, "Limits"). */
export const BOOTSTRAPS_AN_HOUR = 5

/** Wrong matching codes that reject the request. */
export const WRONG_CODES = 3

/** What callers are asked to keep between two polls, and what is still let through: a network is no metronome. */
export const POLL_SECONDS = 3
export const POLL_LEAST_MS = 2_500

/** How long a caller that proves its verifier can have the key replaced that it may have lost on the way. */
export const REPLACE_SECONDS = 60

/** How long settled requests are kept. */
export const BOOTSTRAP_DAYS = 7

/** Nobody is asked any more. Past its time counts, although nobody may have written it down yet. */
export function isWaiting({ status, expires_at }: Bootstrap, now: Date): boolean {
  return status === 'pending' && expires_at > now
}

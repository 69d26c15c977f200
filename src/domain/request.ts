import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'
import type { Requirement } from './policy.ts'
import type { DecisionMethod, Outcome, SignedReceipt } from './receipt.ts'

export type RequestStatus = 'pending' | 'approved' | 'rejected' | 'expired'

export const REQUEST_STATUSES: readonly RequestStatus[] = ['pending', 'approved', 'rejected', 'expired']

/** How people call a way of proving presence, on page and card. */
export function methodWord(method: string): string {
  return { passkey: 'Passkey', totp: 'Authenticator code', sandbox: 'Sandbox, no person' }[method] ?? method
}

/** What the caller says of undoing the action; `externally_reversible`: only with the help of others, outside of its system. */
export const REVERSIBILITIES = ['read_only', 'reversible', 'externally_reversible', 'irreversible'] as const
export type Reversibility = (typeof REVERSIBILITIES)[number]

/** The same in words, for page and card. */
export const REVERSIBILITY_WORDS: Record<Reversibility, string> = {
  read_only: 'Nothing to undo: it only reads',
  reversible: 'Can be undone',
  externally_reversible: 'Can be undone by others only',
  irreversible: 'Cannot be undone',
}

/** Proof of presence kept with a vote, so that a third party can check it later. Binary fields are base64url. */
export type Evidence =
  | {
      type: 'passkey'
      credential_id: string
      /** COSE key as registered. */
      public_key: string
      client_data_json: string
      authenticator_data: string
      signature: string
      /** One gesture for many requests: the RFC 8785 text the challenge is the hash of; it lists this intent's hash. */
      batch_json?: string
    }
  /** A code proves itself to the service only; the step number is all there is to keep (RFC 6238). */
  | { type: 'totp'; step: number; batch_json?: string }
  | { type: 'sandbox' }

/**
 * One person's vote. It is signed only by the write that decides the request, and only if it agrees with the outcome: expired
 * requests leave no artifact, and rejected ones none that says `approved`.
 */
export interface Vote {
  /** `dec_…` */
  decision_id: string
  /** Who acted. */
  user_id: string
  /** Whose vote it counts as; equals `user_id` unless a delegate acted. */
  on_behalf_of: string
  /** 16 hex characters of whom it counts for. */
  approver: string
  /** Set when a delegate acted: their own reference. */
  delegate?: string
  decision: Outcome
  method: DecisionMethod
  at: Date
  comment: string | null
  /** RFC 8785 text of the intent the challenge and the nonce commit to. */
  intent_json: string
  evidence: Evidence
  receipt?: SignedReceipt
}

/** An approver, or who stands in for one, had a pending request on their screen for the first time. */
export interface Seen {
  /** Their own reference. */
  approver: string
  at: Date
}

/** The decision: the closing vote's outcome and receipt. */
export interface Decision {
  id: string
  decision: Outcome
  method: DecisionMethod
  approver: string
  delegate?: string
  decided_at: Date
  comment: string | null
  receipt: SignedReceipt
}

/** The per-request callback, written by the deciding write; `handed`: it has become a delivery of its own. */
export interface CallbackOutbox {
  state: 'due' | 'handed'
  url: string
  /** `evt_…`, the header `webhook-id` of every attempt. */
  event_id: string
  /** `dlv_…`, the delivery it becomes. */
  delivery_id: string
  /** As `ApprovalRequest.callback_secret_version`. */
  secret_version: number
  /** The exact bytes (UTF-8 text) of every attempt; gone once handed over. */
  body?: string
}

/** A request as it is stored. `version` grows with every write; writers name the version they read. */
export interface ApprovalRequest {
  id: string
  version: number
  status: RequestStatus
  account_id: string
  api_key_id: string
  /** How the approver sees who asks; the service's own words, fixed at creation. */
  requested_by: { key_name: string; account_name: string }
  sandbox: boolean
  action: string
  /** RFC 8785 text: stored as text, since BSON would change it. */
  context_json: string
  context_sha256: string
  high_impact: boolean
  /** Where the decision is to count, in the caller's words: signed, so that no other relying party need take the receipt. */
  audience?: string
  reversibility?: Reversibility
  requirement: Requirement
  callback_url?: string
  /** Which of its key's secrets signs the callback: the one of the key that asked. */
  callback_secret_version?: number
  /** The address that asked; kept only where `NOTE_SAME_ADDRESS` wants it compared. */
  asked_from?: string
  created_at: Date
  expires_at: Date
  /** Sandbox only: what the next read after `due_at` decides. */
  sandbox_plan?: { decision: Outcome; due_at: Date; approver: string }
  votes: Vote[]
  /** Who looked at it while it was pending, and when first; of the first so many. */
  seen?: Seen[]
  decision?: Decision
  cancelled?: true
  /** When the caller used the approval up. */
  consumed_at?: Date
  /** SHA-256 of the `Idempotency-Key` that came with that call, in hex. */
  consumed_with?: string
  /** The policy's automatic reminders when it was made; none on sandbox requests. */
  reminders?: number[]
  /** When the next automatic reminder is due. */
  remind_at?: Date
  /** The last reminder of any kind. */
  reminded_at?: Date
  /** The last one that the caller asked for: only those are counted against the caller. */
  caller_reminded_at?: Date
  /** Reminders of any kind. */
  reminder_count?: number
  callback?: CallbackOutbox
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** What a deciding or voting write changes. */
export interface RequestChange {
  status: RequestStatus
  vote: Vote
  /** All votes once the request is decided, those that agree with the outcome with their receipts. */
  signed_votes?: Vote[]
  decision?: Decision
  callback?: CallbackOutbox
  events: OutboxEvent[]
  audit: AuditEntry[]
}

/** The stored text is JSON of an object and of our own making, so parsing restores exactly what was signed. */
export function contextOf(request: Pick<ApprovalRequest, 'context_json'>): Record<string, unknown> {
  return JSON.parse(request.context_json)
}

/** The references by which a request, its votes, its readers and its decision name people. */
export function referencesIn({
  requirement,
  votes,
  seen = [],
  decision,
}: Pick<ApprovalRequest, 'requirement' | 'votes' | 'seen' | 'decision'>): string[] {
  const acted = [...votes, ...(decision === undefined ? [] : [decision])]
  return [
    ...[...requirement.approvers, ...seen].map(({ approver }) => approver),
    ...acted.flatMap(({ approver, delegate }) => [approver, ...(delegate === undefined ? [] : [delegate])]),
  ]
}

/**
 * The context keys the interface names ("Known keys inside context"), in the order people need them, with the label that
 * page and cards give them.
 */
export const CONTEXT_KEYS: readonly (readonly [key: string, label: string])[] = [
  ['reason', 'Reason'],
  ['agent_name', 'Agent'],
  ['agent_purpose', 'Purpose of the agent'],
  ['tool', 'Tool'],
  ['tool_arguments', 'Tool arguments'],
  ['tool_arguments_fingerprint', 'Fingerprint of the arguments'],
  ['risk_arg_findings', 'Risk findings'],
  ['source', 'Source'],
]

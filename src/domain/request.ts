import type { AttachmentFacts } from './attachment.ts'
import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'
import type { NotifyTarget } from './notify.ts'
import type { Requirement } from './policy.ts'
import type { DecisionMethod, Outcome, SignedReceipt } from './receipt.ts'
import type { MadeAfter } from './restore.ts'

export type RequestStatus = 'pending' | 'approved' | 'rejected' | 'expired'

export const REQUEST_STATUSES: readonly RequestStatus[] = ['pending', 'approved', 'rejected', 'expired']

/** Most requests that one call makes or waits for. */
export const MOST_AT_ONCE = 50

/** Names a way of proving presence for people, on page and card. */
export function methodWord(method: string): string {
  return { passkey: 'Passkey', totp: 'Authenticator code', sandbox: 'Sandbox, no person' }[method] ?? method
}

/** How far the caller says the action can be undone; `externally_reversible`: only with help from outside the caller's system. */
export const REVERSIBILITIES = ['read_only', 'reversible', 'externally_reversible', 'irreversible'] as const
export type Reversibility = (typeof REVERSIBILITIES)[number]

/** Words for `Reversibility`, for page and card. */
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
      /** As registered: with them the log's entry is found even when the passkey and its record are gone. */
      aaguid?: string
      attestation?: string
      client_data_json: string
      authenticator_data: string
      signature: string
      /** Set when one gesture decided many requests: RFC 8785 text whose hash was the challenge; it lists this intent's hash. */
      batch_json?: string
    }
  /** A code proves presence to the service only; the step number is all there is to keep (RFC 6238). */
  | { type: 'totp'; step: number; batch_json?: string }
  | { type: 'sandbox' }

/**
 * One person's vote. It is signed only by the write that decides the request, and only if it agrees with the outcome, so
 * expired requests leave no receipt, and rejected requests leave none that says `approved`.
 */
export interface Vote {
  /** `dec_…` */
  decision_id: string
  /** The person who acted. */
  user_id: string
  /** The person whose vote it counts as; equals `user_id` unless a delegate acted. */
  on_behalf_of: string
  /** Reference of the person whose vote it counts as, 16 hex characters. */
  approver: string
  /** Set when a delegate acted: the delegate's own reference. */
  delegate?: string
  decision: Outcome
  method: DecisionMethod
  at: Date
  comment: string | null
  /** With a rejection: the reason that the person chose, with which the comment begins; stored by itself to be counted. */
  reason?: string
  /** RFC 8785 text of the intent to which the challenge and the nonce commit; empty once it was erased. */
  intent_json: string
  evidence: Evidence
  receipt?: SignedReceipt
}

/** The first time that an approver, or a delegate of one, had a pending request on their screen. */
export interface Seen {
  /** The reader's own reference. */
  approver: string
  at: Date
}

/** The decision on a request: outcome and receipt of the closing vote. */
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

/** The per-request callback, stored by the write that decides the request; `handed`: it has become a delivery of its own. */
export interface CallbackOutbox {
  state: 'due' | 'handed'
  url: string
  /** `evt_…`, sent as the header `webhook-id` with every attempt. */
  event_id: string
  /** `dlv_…`, the delivery it becomes. */
  delivery_id: string
  /** Copy of `ApprovalRequest.callback_secret_version`. */
  secret_version: number
  /** The exact bytes (UTF-8 text) of every attempt; gone once handed over. */
  body?: string
}

/**
 * The requests that one call made and that share their cards (`bat_…`); `place`: the position in the call, which is the order on the
 * card. A batch has no document: it is the requests that name it.
 */
export interface InBatch {
  id: string
  place: number
}

/** Returns the id under which a request has its cards: its own, or that of its batch. */
export function cardSubjectOf({ id, batch }: Pick<ApprovalRequest, 'id' | 'batch'>): string {
  return batch?.id ?? id
}

/** A request as it is stored. `version` grows with every write; writers name the version they read. */
export interface ApprovalRequest extends MadeAfter {
  id: string
  version: number
  status: RequestStatus
  account_id: string
  api_key_id: string
  /** Who asks, as approvers see it: the service's own record, fixed at creation. */
  requested_by: { key_name: string; account_name: string }
  sandbox: boolean
  action: string
  /** The context as RFC 8785 text, since BSON would change the values. */
  context_json: string
  context_sha256: string
  /** 128 random bits in the hash that `approval.created` holds, which says nothing any more once they are erased. */
  digest_salt?: string
  high_impact: boolean
  /** The relying party for which the decision is meant, in the caller's words; signed, so that others can refuse the receipt. */
  audience?: string
  reversibility?: Reversibility
  /** Seconds from the decision in which an approval can be used; signed. */
  use_within_seconds?: number
  /** Set if it was asked for together with others and one card shows them all. */
  batch?: InBatch
  /** In the order of the create; signed. */
  attachments?: AttachmentFacts[]
  /** Which person fetched which attachment while it was pending (`openedMark`); signed with each vote. */
  opened?: string[]
  /** Where the outcome also goes in chat: no part of what is consented to, so it is not signed. */
  notify?: NotifyTarget
  requirement: Requirement
  callback_url?: string
  /** Version of the asking key's webhook secret that signs the callback. */
  callback_secret_version?: number
  /** The header `traceparent` of the create, which callbacks and webhook events carry on; no part of what is consented to. */
  traceparent?: string
  /** The address that asked; kept only where `NOTE_SAME_ADDRESS` has it compared with the decider's. */
  asked_from?: string
  /** Hex SHA-256 of the API key's id, `:` and the `Idempotency-Key` of the call; gone once the key makes another request. */
  idempotency_sha256?: string
  /** Hex SHA-256 of that call's whole body as RFC 8785 text. */
  body_sha256?: string
  /**
   * With `reuse`: hex SHA-256 of who asked for what; unique. It finds the request, whose state then determines whether it may be
   * joined: so nothing that decides or uses the request has to remove it.
   */
  open_sha256?: string
  created_at: Date
  expires_at: Date
  /** Sandbox only: the decision that the next read after `due_at` makes. */
  sandbox_plan?: { decision: Outcome; due_at: Date; approver: string }
  votes: Vote[]
  /** When each reader first looked at the request while it was pending; the first 50 readers only. */
  seen?: Seen[]
  decision?: Decision
  cancelled?: true
  /** Once people decided it: hash of what it has in common with others of its kind (`kindOf`). */
  kind_sha256?: string
  /** Id of the restore after which it was decided, although it was in the copy: another decision on it may exist. */
  decided_after?: string
  /** When the caller consumed the approval. */
  consumed_at?: Date
  /** Hex SHA-256 of the `Idempotency-Key` of the call that consumed it. */
  consumed_with?: string
  /** The policy's automatic reminders when the request was made; none on sandbox requests. */
  reminders?: number[]
  /** When the next automatic reminder is due. */
  remind_at?: Date
  /** When the last reminder of any kind was sent. */
  reminded_at?: Date
  /** When its texts were erased: the receipts, references and times are left. */
  erased_at?: Date
  /** The whole document goes once the trail has the entry about it. */
  deleting?: true
  /** When the caller last asked for a reminder: only such reminders count against the caller's limit. */
  caller_reminded_at?: Date
  /** Number of reminders of any kind. */
  reminder_count?: number
  callback?: CallbackOutbox
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** Returns a vote without what the person said with it. */
export function withoutWords({ reason: _, ...vote }: Vote): Vote {
  return { ...vote, comment: null }
}

/** What stands in place of an erased text. */
export const ERASED = '[erased]'
export const NO_CONTEXT = {
  json: '{}',
  sha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
}

/** How long the service keeps things; undefined: for ever. */
export interface Retention {
  /** Days from a request's expiry until its texts are erased. */
  readonly days: number | undefined
  /** Whole requests are deleted, with receipts and all. */
  readonly whole: boolean
  /** Days until the contents of the audit trail's records are erased. */
  readonly auditDays: number | undefined
}

/** The changes made by a write that votes on a request or decides it. */
export interface RequestChange {
  status: RequestStatus
  vote: Vote
  /** All votes once the request is decided; votes that agree with the outcome carry their receipts. */
  signed_votes?: Vote[]
  decision?: Decision
  callback?: CallbackOutbox
  /** What the request has in common with others of its kind, if anything. */
  kind?: string
  /** See `ApprovalRequest`. */
  decided_after?: string
  events: OutboxEvent[]
  audit: AuditEntry[]
}

/** Returns when an approval lapses; undefined if it does not, or there is none. */
export function usableUntil({
  use_within_seconds,
  decision,
}: Pick<ApprovalRequest, 'use_within_seconds' | 'decision'>): Date | undefined {
  if (use_within_seconds === undefined || decision === undefined) return undefined
  return new Date(decision.decided_at.getTime() + use_within_seconds * 1000)
}

/** Says it to people, on page and card: exactly, so that it is what is signed. */
export function useWithinWords(seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined
  const [size, unit] = seconds % 3600 === 0 ? [3600, 'h'] : seconds % 60 === 0 ? [60, 'min'] : [1, 's']
  return `Can be used until ${seconds / size} ${unit} after approval`
}

/** Parses the stored context. The service wrote that JSON object itself, so parsing restores exactly what was signed. */
export function contextOf(request: Pick<ApprovalRequest, 'context_json'>): Record<string, unknown> {
  return JSON.parse(request.context_json)
}

/** Lists the references by which a request, its votes, its readers and its decision name people. */
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

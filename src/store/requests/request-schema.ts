import { Schema } from 'mongoose'
import type { SignedReceipt } from '../../domain/receipt.ts'
import type { ApprovalRequest, Decision } from '../../domain/request.ts'
import { STRICT_SCHEMA } from '../mongo/connect.ts'
import { date, flag, neededPart, number, part, text } from '../mongo/fields.ts'
import { addOutbox, type OutboxToken } from '../mongo/outbox.ts'
import { recordOf } from '../mongo/record.ts'

/** A decision without its receipt, which its vote has. Schema versions before 14 stored the receipt in both. */
type StoredDecision = Omit<Decision, 'receipt'> & { receipt?: SignedReceipt }

/** A request document: the record with its id as `_id`. `moved_at`: when it got its version; absent for the first version. */
export type RequestDocument = Omit<ApprovalRequest, 'id' | 'decision'> & {
  _id: string
  moved_at?: Date
  decision?: StoredDecision
} & OutboxToken

/** Collection `requests`. The caller's context is stored as text, never as BSON, which would lose or change keys. */
export const requestSchema = new Schema<RequestDocument>(
  {
    _id: text,
    version: number,
    moved_at: Date,
    status: text,
    account_id: text,
    api_key_id: text,
    requested_by: neededPart,
    sandbox: flag,
    action: text,
    context_json: text,
    context_sha256: text,
    digest_salt: String,
    high_impact: flag,
    audience: String,
    reversibility: String,
    use_within_seconds: Number,
    batch: part,
    attachments: part,
    opened: part,
    notify: part,
    requirement: neededPart,
    callback_url: String,
    callback_secret_version: Number,
    traceparent: String,
    asked_from: String,
    idempotency_sha256: String,
    body_sha256: String,
    open_sha256: String,
    created_at: date,
    expires_at: date,
    sandbox_plan: part,
    votes: neededPart,
    seen: part,
    decision: part,
    cancelled: Boolean,
    kind_sha256: String,
    made_after: String,
    released: String,
    decided_after: String,
    erased_at: Date,
    deleting: Boolean,
    consumed_at: Date,
    consumed_with: String,
    reminders: { type: [Number], default: undefined },
    remind_at: Date,
    reminded_at: Date,
    caller_reminded_at: Date,
    reminder_count: Number,
    callback: part,
    outbox: neededPart,
  },
  STRICT_SCHEMA,
)

// Ascending, although lists are newest first: the embedded store fills the pages of an index twice as full when new entries come
// after older ones.
requestSchema.index({ api_key_id: 1, created_at: 1, _id: 1 })
requestSchema.index({ api_key_id: 1, status: 1, created_at: 1, _id: 1 })
requestSchema.index({ status: 1, expires_at: 1 })
requestSchema.index({ remind_at: 1 }, { partialFilterExpression: { status: 'pending' } })
requestSchema.index(
  { 'requirement.approvers.user_id': 1, expires_at: 1, _id: 1 },
  { partialFilterExpression: { status: 'pending' }, name: 'inbox' },
)
requestSchema.index(
  { api_key_id: 1, 'decision.decided_at': -1 },
  { partialFilterExpression: { status: 'rejected' }, name: 'rejected_by_key' },
)
requestSchema.index({ account_id: 1, created_at: 1, _id: 1 })
requestSchema.index({ account_id: 1, status: 1, created_at: 1, _id: 1 })
requestSchema.index({ 'requirement.approvers.user_id': 1, account_id: 1, created_at: 1, _id: 1 })
// Partial: only requests that were voted on have these.
requestSchema.index(
  { 'votes.user_id': 1, account_id: 1, created_at: 1, _id: 1 },
  { partialFilterExpression: { 'votes.user_id': { $exists: true } }, name: 'votes_of_person' },
)
requestSchema.index(
  { 'batch.id': 1 },
  { partialFilterExpression: { 'batch.id': { $exists: true } }, name: 'batch' },
)
requestSchema.index({ moved_at: 1 }, { sparse: true })
requestSchema.index(
  { idempotency_sha256: 1 },
  { unique: true, partialFilterExpression: { idempotency_sha256: { $exists: true } } },
)
requestSchema.index(
  { open_sha256: 1 },
  { unique: true, partialFilterExpression: { open_sha256: { $exists: true } } },
)
// Only decided requests have it, so that a create pays nothing for it.
requestSchema.index(
  { kind_sha256: 1, 'decision.decided_at': 1 },
  { partialFilterExpression: { kind_sha256: { $exists: true } }, name: 'decided_of_kind' },
)
requestSchema.index({ 'decision.id': 1 }, { partialFilterExpression: { 'decision.id': { $exists: true } } })
addOutbox(requestSchema)

/** Stands for a receipt that was taken out of the store; no verifier accepts it. */
const NO_RECEIPT: SignedReceipt = { canonical_payload: '', signature: '', public_key_id: '' }

/** Returns the document's record, with the receipt of the decision's vote as that of the decision. */
export function requestOf(document: RequestDocument): ApprovalRequest {
  const { decision, ...request } = recordOf(document)
  if (decision === undefined) return request
  const closing = request.votes.find(({ decision_id }) => decision_id === decision.id)
  const receipt = decision.receipt ?? closing?.receipt ?? NO_RECEIPT
  return { ...request, decision: { ...decision, receipt } }
}

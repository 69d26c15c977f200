import { Schema } from 'mongoose'

/** Sub-schema of an embedded audit entry (`domain/audit.ts`). */
export const auditFields = new Schema(
  {
    eid: { type: String, required: true },
    type: { type: String, required: true },
    at: { type: Date, required: true },
    actor: {
      type: new Schema(
        { kind: { type: String, required: true }, id: String, address: String },
        { _id: false, strict: 'throw' },
      ),
      required: true,
    },
    account_id: String,
    subject: { type: String, required: true },
    detail: Schema.Types.Mixed,
  },
  { _id: false, strict: 'throw' },
)

/** Sub-schema of an event in the outbox of its document (`domain/event.ts`). */
export const outboxFields = new Schema(
  {
    id: { type: String, required: true },
    type: { type: String, required: true },
    created_at: { type: Date, required: true },
    body: { type: String, required: true },
  },
  { _id: false, strict: 'throw' },
)

const text = { type: String, required: true } as const

/** A notice as cards and pushes keep it (`domain/factor-notice.ts`). */
export const noticeFields = new Schema(
  { type: text, at: { type: Date, required: true }, address: String, by_other: Boolean, name: String },
  { _id: false, strict: 'throw' },
)

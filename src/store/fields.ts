import { Schema } from 'mongoose'

/** Schema types of required fields. */
export const text = { type: String, required: true } as const
export const date = { type: Date, required: true } as const
export const number = { type: Number, required: true } as const
export const flag = { type: Boolean, required: true } as const

/** The options of a sub-schema. */
export const part = { _id: false, strict: 'throw' } as const

/** Sub-schema of an embedded audit entry (`domain/audit.ts`). */
export const auditFields = new Schema(
  {
    eid: text,
    type: text,
    at: date,
    actor: {
      type: new Schema({ kind: text, id: String, address: String }, part),
      required: true,
    },
    account_id: String,
    subject: text,
    detail: Schema.Types.Mixed,
  },
  part,
)

/** Sub-schema of an event in the outbox of its document (`domain/event.ts`). */
export const outboxFields = new Schema(
  {
    id: text,
    type: text,
    created_at: date,
    body: text,
  },
  part,
)

/** A notice as cards and pushes keep it (`domain/factor-notice.ts`). */
export const noticeFields = new Schema(
  { type: text, at: date, address: String, by_other: Boolean, name: String },
  part,
)

import { Schema } from 'mongoose'

const text = { type: String, required: true } as const

/** A notice as cards and pushes keep it (`domain/factor-notice.ts`). */
export const noticeFields = new Schema(
  { type: text, at: { type: Date, required: true }, address: String, by_other: Boolean, name: String },
  { _id: false, strict: 'throw' },
)

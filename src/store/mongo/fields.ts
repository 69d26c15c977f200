import { Schema } from 'mongoose'

/** Schema types of required fields. */
export const text = { type: String, required: true } as const
export const date = { type: Date, required: true } as const
export const number = { type: Number, required: true } as const
export const flag = { type: Boolean, required: true } as const

/**
 * A part of a document, or a list of parts. What is in them is said once, by their types in `domain`: here nothing of it is added,
 * dropped or cast.
 */
export const part = Schema.Types.Mixed
export const neededPart = { type: part, required: true } as const

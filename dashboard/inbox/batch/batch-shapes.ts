import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser'
import { factor, requestOptions } from '../../../webauthn-page/kit/api/contract.ts'
import {
  isRecord,
  list,
  object,
  optional,
  type Shape,
  ShapeError,
  text,
} from '../../../webauthn-page/kit/api/shape.ts'

const statement: Shape<Record<string, unknown>> = (value, path) => {
  if (!isRecord(value)) throw new ShapeError(path, 'an object')
  return value
}

/** Batch and intents stay untyped here: `checkBatch` compares them field by field, unknown fields included. */
export const batchOptionsShape = object({
  batch_id: text,
  batch: statement,
  intents: list(statement),
  methods: list(factor),
  options: optional(requestOptions),
})

export interface BatchOptions {
  batch: Record<string, unknown>
  intents: Record<string, unknown>[]
  options: PublicKeyCredentialRequestOptionsJSON | undefined
}

/** Why one item was lost, in the service's words or by its code. */
const lost: Shape<string> = (value, path) => {
  if (typeof value === 'string') return value
  if (isRecord(value)) return text(value.message ?? value.error, path)
  throw new ShapeError(path, 'an error')
}

const batchItemShape = object({ id: text, status: optional(text), error: optional(lost) })
export type BatchItem = ReturnType<typeof batchItemShape>

export const batchAnswerShape = object({ data: list(batchItemShape) })

import { Double, Int32 } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'

/** The reply of a failed command: `ok: 0`, message, code, code name and any extra fields. */
export function errorReply(error: unknown): BsonDocument {
  return new Map<string, BsonValue>([['ok', new Double(0)], ...errorFields(error)])
}

/** One entry of `writeErrors`. */
export function writeError(index: number, error: MongoError): BsonDocument {
  return new Map<string, BsonValue>([
    ['index', new Int32(index)],
    ['code', new Int32(error.code)],
    ...error.extra,
    ['errmsg', error.message],
  ])
}

function errorFields(error: unknown): [string, BsonValue][] {
  if (!(error instanceof MongoError)) {
    // A defect of ours. Its text may quote data, so the client learns only its kind.
    const kind = error instanceof Error ? error.name : typeof error
    return errorFields(new MongoError(1, `internal error (${kind})`))
  }
  return [
    ['errmsg', error.message],
    ['code', new Int32(error.code)],
    ['codeName', error.codeName],
    ...error.extra,
  ]
}

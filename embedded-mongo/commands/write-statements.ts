import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import type { CommandCall } from './command.ts'
import { writeError } from './error-reply.ts'
import { MAX_WRITE_BATCH } from './server-commands.ts'

/** @throws MongoError 16 InvalidLength outside 1 … 100 000 statements */
export function checkBatchSize(statements: readonly unknown[]): void {
  if (statements.length >= 1 && statements.length <= MAX_WRITE_BATCH) return
  throw new MongoError(
    16,
    `Write batch sizes must be between 1 and ${MAX_WRITE_BATCH}. Got ${statements.length} operations.`,
  )
}

/**
 * Runs the statements of a write command. A refused one becomes a `writeErrors` entry; with `ordered`
 * (the default) it is the last one run. Returns the `writeErrors` field, or nothing if all went well.
 */
export function runStatements<T>(
  statements: readonly T[],
  call: CommandCall,
  run: (statement: T, index: number) => void,
): [string, BsonValue][] {
  const ordered = !call.fields.has('ordered') || call.fields.flag('ordered')
  const errors: BsonDocument[] = []
  for (const [index, statement] of statements.entries()) {
    try {
      run(statement, index)
    } catch (error) {
      if (!(error instanceof MongoError)) throw error
      errors.push(writeError(index, error))
      if (ordered) break
    }
  }
  return errors.length === 0 ? [] : [['writeErrors', errors]]
}

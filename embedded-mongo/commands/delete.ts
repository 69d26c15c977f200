import { Int32 } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { type Command, type CommandCall, namespaceOf } from './command.ts'
import { CommandFields } from './command-fields.ts'
import { readSelection, selectRecords } from './selection.ts'
import { checkBatchSize, runStatements } from './write-statements.ts'

const STATEMENT = new Set(['q', 'limit', 'collation', 'hint'])

/** The `delete` command. */
export const remove: Command = {
  fields: new Set(['delete', 'deletes', 'ordered']),
  run(call) {
    const namespace = namespaceOf(call, 'delete')
    const documents = call.fields.required('deletes', call.fields.documents('deletes'))
    checkBatchSize(documents)
    // All are checked before the first is run: a misspelt option must not take effect half-way.
    const statements = documents.map((document) => readStatement(document))
    let removed = 0
    const writeErrors = runStatements(statements, call, (statement) => {
      removed += removeMatching(call, namespace, statement)
    })
    return new Map<string, BsonValue>([['n', new Int32(removed)], ...writeErrors])
  },
}

function readStatement(document: BsonDocument): CommandFields {
  const fields = new CommandFields('delete.deletes', document, STATEMENT)
  fields.required('q', fields.document('q'))
  const limit = fields.required('limit', fields.integer('limit'))
  if (limit === 0 || limit === 1) return fields
  throw new MongoError(9, `The limit field in delete objects must be 0 or 1. Got ${limit}`)
}

function removeMatching(call: CommandCall, namespace: string, statement: CommandFields): number {
  const collection = call.engine.collection(namespace)
  const selection = readSelection(statement, 'q', collection, { limit: statement.integer('limit') ?? 0 })
  if (collection === undefined) return 0
  const records = [...selectRecords(collection, selection, call)]
  for (const record of records) collection.remove(record)
  return records.length
}

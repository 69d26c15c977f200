import { Int32 } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { readChange } from './change.ts'
import { type Command, type CommandCall, namespaceOf } from './command.ts'
import { CommandFields } from './command-fields.ts'
import { readSelection, selectRecords } from './selection.ts'
import { checkBatchSize, runStatements } from './write-statements.ts'

const STATEMENT = new Set(['q', 'u', 'multi', 'upsert', 'collation', 'arrayFilters', 'hint'])

interface Tally {
  matched: number
  modified: number
  upserted: BsonDocument[]
}

export const update: Command = {
  fields: new Set(['update', 'updates', 'ordered', 'bypassDocumentValidation']),
  run(call) {
    const namespace = namespaceOf(call, 'update')
    // There are no validators to bypass.
    call.fields.flag('bypassDocumentValidation')
    const documents = call.fields.required('updates', call.fields.documents('updates'))
    checkBatchSize(documents)
    // All are checked before the first is run: a misspelt option must not take effect half-way.
    const statements = documents.map((document) => readStatement(document))
    const tally: Tally = { matched: 0, modified: 0, upserted: [] }
    const writeErrors = runStatements(statements, call, (statement, index) => {
      updateMatching(call, namespace, { fields: statement, index }, tally)
    })
    return new Map<string, BsonValue>([
      ['n', new Int32(tally.matched + tally.upserted.length)],
      ['nModified', new Int32(tally.modified)],
      ...(tally.upserted.length === 0 ? [] : ([['upserted', tally.upserted]] as const)),
      ...writeErrors,
    ])
  },
}

function readStatement(document: BsonDocument): CommandFields {
  const fields = new CommandFields('update.updates', document, STATEMENT)
  fields.required('q', fields.document('q'))
  fields.required('u', fields.raw('u'))
  return fields
}

function updateMatching(
  call: CommandCall,
  namespace: string,
  { fields, index }: { fields: CommandFields; index: number },
  tally: Tally,
): void {
  const multi = fields.flag('multi')
  const filter = fields.required('q', fields.document('q'))
  const change = readChange(fields, 'u', filter)
  if (multi && change.replacement) {
    throw new MongoError(9, 'multi update is not supported for replacement-style update')
  }
  const selection = readSelection(fields, 'q', call.engine.collection(namespace), { limit: multi ? 0 : 1 })
  const collection = call.engine.collection(namespace)
  const records = collection === undefined ? [] : [...selectRecords(collection, selection, call)]
  for (const record of records) {
    tally.matched += 1
    if (collection !== undefined && change.applyTo(collection, record, selection.filter, call.now)) {
      tally.modified += 1
    }
  }
  if (records.length > 0 || !fields.flag('upsert')) return
  const document = change.insertInto(call.engine.ensureCollection(namespace), call.now)
  tally.upserted.push(
    new Map<string, BsonValue>([
      ['index', new Int32(index)],
      ['_id', document.get('_id') ?? null],
    ]),
  )
}

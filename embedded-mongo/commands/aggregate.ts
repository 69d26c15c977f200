import { MongoError } from '../semantics/mongo-error.ts'
import { compilePipeline } from '../semantics/pipeline.ts'
import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'
import { type Command, type CommandCall, namespaceOf } from './command.ts'
import { CommandFields } from './command-fields.ts'
import { readSelection, selectRecords } from './selection.ts'

/** Options MongoDB has and the store has not. */
const UNSUPPORTED = ['explain', 'let', 'bypassDocumentValidation', 'allowDiskUse'] as const

export const aggregate: Command = {
  fields: new Set(['aggregate', 'pipeline', 'cursor', 'collation', 'hint', ...UNSUPPORTED]),
  run(call) {
    call.fields.refuse(...UNSUPPORTED)
    if (typeof call.fields.raw('aggregate') !== 'string') {
      throw new MongoError(73, 'aggregations on a whole database are not supported by the embedded store')
    }
    const namespace = namespaceOf(call, 'aggregate')
    const stages = call.fields.required('pipeline', call.fields.documents('pipeline'))
    const batchSize = cursorOptions(call)
    if (call.fields.has('collation')) {
      throw new MongoError(72, "'aggregate.collation' is not supported by the embedded store")
    }
    const results = runPipeline(call, namespace, stages)
    const request = { namespace, session: call.session, batchSize }
    return new Map([['cursor', call.engine.cursors.open(results, request, call.now.getTime())]])
  },
}

function cursorOptions(call: CommandCall): number | undefined {
  const cursor = call.fields.document('cursor')
  if (cursor === undefined) {
    throw new MongoError(9, "The 'cursor' option is required, except for aggregate with the explain argument")
  }
  return new CommandFields('cursor', cursor, new Set(['batchSize'])).count('batchSize')
}

/** A `$match` in front is answered by the indexes; the whole pipeline then runs over what it left. */
function runPipeline(call: CommandCall, namespace: string, stages: BsonDocument[]): BsonDocument[] {
  const run = compilePipeline(stages)
  const collection = call.engine.collection(namespace)
  if (collection === undefined) return run([], call.now)
  const match = stages[0]?.get('$match')
  const filter = isDocument(match) ? match : new Map()
  const fields = new CommandFields(
    'aggregate',
    new Map<string, BsonValue>([['filter', filter], ...hintOf(call)]),
    new Set(['filter', 'hint']),
  )
  const records = selectRecords(collection, readSelection(fields, 'filter', collection, {}), call)
  const documents: BsonDocument[] = []
  for (const { document } of records) documents.push(document)
  return run(documents, call.now)
}

function hintOf(call: CommandCall): [string, BsonDocument | string][] {
  const hint = call.fields.raw('hint')
  if (hint === undefined) return []
  if (typeof hint === 'string' || isDocument(hint)) return [['hint', hint]]
  throw new MongoError(9, 'Hint must be a string or an object')
}

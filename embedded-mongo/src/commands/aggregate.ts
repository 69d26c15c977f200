import { encodeBson } from '../bson-writer.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { compilePipeline } from '../semantics/pipeline.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../semantics/values.ts'
import { type Command, type CommandCall, cursorBatchSize, namespaceOf, openCursor } from './command.ts'
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
    if (!call.fields.has('cursor')) {
      throw new MongoError(
        9,
        "The 'cursor' option is required, except for aggregate with the explain argument",
      )
    }
    const batchSize = cursorBatchSize(call)
    if (call.fields.has('collation')) {
      throw new MongoError(72, "'aggregate.collation' is not supported by the embedded store")
    }
    const results = runPipeline(call, namespace, stages)
    return openCursor(call, results.map(encodeBson), { namespace, batchSize })
  },
}

/** A `$match` in front is answered by the indexes; the rest of the pipeline runs over what it left. */
function runPipeline(call: CommandCall, namespace: string, stages: BsonDocument[]): BsonDocument[] {
  // All stages are checked, and in their order, before the first is run.
  const whole = compilePipeline(stages)
  const collection = call.engine.collection(namespace)
  if (collection === undefined) return whole([], call.now)
  const match = stages[0]?.get('$match')
  const fields = new CommandFields(
    'aggregate',
    new Map<string, BsonValue>([['filter', isDocument(match) ? match : new Map()], ...hintOf(call)]),
    new Set(['filter', 'hint']),
  )
  const records = selectRecords(collection, readSelection(fields, 'filter', collection, {}), call)
  const rest = isDocument(match) ? stages.slice(1) : stages
  const documents = onlyCounts(rest) ? placeholders(records) : contents(records)
  return compilePipeline(rest)(documents, call.now)
}

/** What `countDocuments` sends: one group of everything that reads no field of any document. */
function onlyCounts(stages: readonly BsonDocument[]): boolean {
  const group = stages.at(-1)?.get('$group')
  if (!isDocument(group) || stages.length !== 1) return false
  return [...group].every(([name, value]) => {
    if (name === '_id') return value === null || isNumber(value)
    const sum = isDocument(value) && value.size === 1 ? value.get('$sum') : undefined
    return isNumber(sum)
  })
}

function* placeholders(records: Iterable<StoreRecord>): Generator<BsonDocument> {
  const empty: BsonDocument = new Map()
  for (const _ of records) yield empty
}

function* contents(records: Iterable<StoreRecord>): Generator<BsonDocument> {
  for (const record of records) yield record.peek()
}

function hintOf(call: CommandCall): [string, BsonDocument | string][] {
  const hint = call.fields.raw('hint')
  if (hint === undefined) return []
  if (typeof hint === 'string' || isDocument(hint)) return [['hint', hint]]
  throw new MongoError(9, 'Hint must be a string or an object')
}

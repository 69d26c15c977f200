import { Int32, Long } from 'bson'
import { pickFields } from '../bson-reader.ts'
import { encodeBson } from '../bson-writer.ts'
import type { Steps } from '../engine/slice.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { countValue } from '../semantics/numbers.ts'
import { compilePipeline, groupOf } from '../semantics/pipeline.ts'
import { compileProjection, type Project } from '../semantics/projection.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../semantics/values.ts'
import {
  type Command,
  type CommandCall,
  cursorBatchSize,
  cursorReply,
  namespaceOf,
  openCursor,
} from './command.ts'
import { sessionId } from './generic-arguments.ts'
import { countRecords, readSelection, selectRecords } from './selection.ts'

/** Options that MongoDB has and the store lacks. */
const UNSUPPORTED_OF_FIND = [
  'allowDiskUse',
  'allowPartialResults',
  'awaitData',
  'let',
  'max',
  'min',
  'noCursorTimeout',
  'oplogReplay',
  'returnKey',
  'showRecordId',
  'tailable',
] as const

export const find: Command = {
  fields: new Set([
    'find',
    'filter',
    'sort',
    'projection',
    'hint',
    'skip',
    'limit',
    'batchSize',
    'singleBatch',
    'collation',
    ...UNSUPPORTED_OF_FIND,
  ]),
  run(call) {
    call.fields.refuse(...UNSUPPORTED_OF_FIND)
    const namespace = namespaceOf(call, 'find')
    const limit = call.fields.count('limit') ?? 0
    const collection = call.engine.collection(namespace)
    const selection = readSelection(call.fields, call.fields.document('filter'), collection, {
      limit,
      skip: call.fields.count('skip') ?? 0,
    })
    const projection = call.fields.document('projection')
    const project =
      projection === undefined || projection.size === 0 ? undefined : compileProjection(projection)
    const batchSize = call.fields.count('batchSize')
    const singleBatch = call.fields.flag('singleBatch')
    const found = collection === undefined ? [] : selectRecords(collection, selection, call)
    return openCursor(call, shown(found, project), { namespace, batchSize, singleBatch })
  },
}

function* shown(
  found: Iterable<StoreRecord | undefined>,
  project: Project | undefined,
): Generator<Uint8Array | undefined> {
  for (const record of found) {
    if (project === undefined || record === undefined) yield record?.body
    else if (project.fields !== undefined) yield pickFields(record.body, project.fields)
    else yield encodeBson(project(record.document))
  }
}

export const getMore: Command = {
  fields: new Set(['getMore', 'collection', 'batchSize']),
  *run(call) {
    const id = cursorId('getMore.getMore', call.fields.required('getMore', call.fields.raw('getMore')))
    const request = {
      namespace: namespaceOf(call, 'collection'),
      session: call.session,
      batchSize: call.fields.count('batchSize'),
    }
    return cursorReply(yield* call.engine.cursors.getMore(id, request, call.now.getTime()))
  },
}

export const killCursors: Command = {
  fields: new Set(['killCursors', 'cursors']),
  run(call) {
    namespaceOf(call, 'killCursors')
    const ids = call.fields.required('cursors', call.fields.array('cursors'))
    const killed: BsonValue[] = []
    const unknown: BsonValue[] = []
    for (const id of ids) {
      if (call.engine.cursors.kill(cursorId('killCursors.cursors', id))) killed.push(id)
      else unknown.push(id)
    }
    return new Map<string, BsonValue>([
      ['cursorsKilled', killed],
      ['cursorsNotFound', unknown],
      ['cursorsAlive', []],
      ['cursorsUnknown', []],
    ])
  },
}

/** A session holds nothing here except its cursors. */
export const endSessions: Command = {
  fields: new Set(['endSessions']),
  run(call: CommandCall) {
    const sessions = call.fields.required('endSessions', call.fields.array('endSessions'))
    for (const session of sessions) {
      if (!isDocument(session)) {
        throw new MongoError(14, "BSON field 'endSessions.endSessions' must hold session documents")
      }
      call.engine.cursors.killSession(sessionId(session))
    }
    return new Map()
  },
}

function cursorId(field: string, value: BsonValue): Long {
  if (isNumber(value) && value._bsontype === 'Long') return value
  if (value instanceof Int32) return Long.fromInt(value.value)
  throw new MongoError(14, `BSON field '${field}' is the wrong type, expected type 'long'`)
}

export const count: Command = {
  fields: new Set(['count', 'query', 'limit', 'skip', 'hint', 'collation']),
  *run(call) {
    const collection = call.engine.collection(namespaceOf(call, 'count'))
    // A negative limit means the same as its absolute value.
    const limit = Math.abs(call.fields.integer('limit') ?? 0)
    const skip = call.fields.count('skip') ?? 0
    const selection = readSelection(call.fields, call.fields.document('query'), collection, { limit, skip })
    const found = collection === undefined ? 0 : yield* countRecords(collection, selection, call)
    return new Map([['n', countValue(found)]])
  },
}

/** Options that MongoDB has and the store lacks. */
const UNSUPPORTED_OF_AGGREGATE = ['explain', 'let', 'bypassDocumentValidation', 'allowDiskUse'] as const

export const aggregate: Command = {
  fields: new Set(['aggregate', 'pipeline', 'cursor', 'collation', 'hint', ...UNSUPPORTED_OF_AGGREGATE]),
  *run(call) {
    call.fields.refuse(...UNSUPPORTED_OF_AGGREGATE)
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
    const results = yield* runPipeline(call, namespace, stages)
    return yield* openCursor(
      call,
      results.map((document) => encodeBson(document)),
      { namespace, batchSize },
    )
  },
}

/** Runs a pipeline. Indexes serve a leading `$match`; the other stages run over its matches. */
function* runPipeline(call: CommandCall, namespace: string, stages: BsonDocument[]): Steps<BsonDocument[]> {
  // All stages are checked, in their order, before the first is run.
  const whole = compilePipeline(stages)
  const collection = call.engine.collection(namespace)
  const match = stages[0]?.get('$match')
  const selection = readSelection(call.fields, isDocument(match) ? match : undefined, collection)
  if (collection === undefined) return whole([], call.now)
  const rest = isDocument(match) ? stages.slice(1) : stages
  const counted = countingGroup(rest)
  if (counted !== undefined) return counted(yield* countRecords(collection, selection, call))
  return compilePipeline(rest)(yield* contents(selectRecords(collection, selection, call)), call.now)
}

/** Recognises the `$group` of all documents that `countDocuments` sends, and returns its result for a given count. */
function countingGroup(stages: readonly BsonDocument[]): ((count: number) => BsonDocument[]) | undefined {
  const group = stages.at(-1)?.get('$group')
  if (!isDocument(group) || stages.length !== 1) return undefined
  const id = group.get('_id') ?? null
  if (id !== null && !isNumber(id)) return undefined
  return (count) => (count === 0 ? [] : [groupOf(group, id, count)])
}

/** The most bytes of documents that a pipeline reads; decoded they take about four times that. */
const PIPELINE_BYTES = 100 * 1024 * 1024

/** Reads the documents of all records. @throws MongoError 292 for more than {@link PIPELINE_BYTES} */
function* contents(records: Iterable<StoreRecord | undefined>): Steps<BsonDocument[]> {
  const documents: BsonDocument[] = []
  let bytes = 0
  for (const record of records) {
    if (record === undefined) yield
    else {
      documents.push(record.document)
      bytes += record.body.length
    }
    if (bytes > PIPELINE_BYTES)
      throw new MongoError(292, `the pipeline reads more than ${PIPELINE_BYTES} bytes`)
  }
  return documents
}

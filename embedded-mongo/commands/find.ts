import { decodeBson } from '../bson-reader.ts'
import { encodeBson } from '../bson-writer.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { compileProjection } from '../semantics/projection.ts'
import type { BsonDocument } from '../semantics/values.ts'
import { type Command, namespaceOf } from './command.ts'
import { CursorReply } from './cursor-reply.ts'
import { readSelection, selectRecords } from './selection.ts'

/** Options MongoDB has and the store has not. */
const UNSUPPORTED = [
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
    ...UNSUPPORTED,
  ]),
  run(call) {
    call.fields.refuse(...UNSUPPORTED)
    const namespace = namespaceOf(call, 'find')
    const limit = call.fields.integer('limit') ?? 0
    if (limit < 0)
      throw new MongoError(51024, `BSON field 'limit' value must be >= 0, actual value '${limit}'`)
    const collection = call.engine.collection(namespace)
    const selection = readSelection(call.fields, 'filter', collection, {
      limit,
      skip: call.fields.count('skip') ?? 0,
    })
    const projection = call.fields.document('projection')
    const project =
      projection === undefined || projection.size === 0
        ? undefined
        : compileProjection(projection, call.fields.document('filter'), call.now)
    const request = {
      namespace,
      session: call.session,
      batchSize: call.fields.count('batchSize'),
      singleBatch: call.fields.flag('singleBatch'),
    }
    // Found now, in full: a cursor never sees a later state, and never holds an index iterator open.
    const found = collection === undefined ? [] : bodies(selectRecords(collection, selection, call))
    const shown = project === undefined ? found : projected(found, project)
    return new CursorReply(call.engine.cursors.open(shown, request, call.now.getTime()))
  },
}

function bodies(records: Iterable<StoreRecord>): Uint8Array[] {
  const found: Uint8Array[] = []
  for (const record of records) found.push(record.body)
  return found
}

function* projected(
  found: Iterable<Uint8Array>,
  project: (document: BsonDocument) => BsonDocument,
): Generator<Uint8Array> {
  for (const body of found) yield encodeBson(project(decodeBson(body)))
}

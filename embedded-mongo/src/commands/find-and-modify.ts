import { Int32 } from 'bson'
import type { Collection } from '../engine/collection.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { compileProjection } from '../semantics/projection.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { type Command, type CommandCall, namespaceOf } from './command.ts'
import { readSelection, type Selection, selectRecords } from './selection.ts'
import { readChange } from './write-commands.ts'

interface Outcome {
  value: BsonDocument | null
  updatedExisting?: boolean
  upserted?: BsonValue
  count: number
}

export const findAndModify: Command = {
  fields: new Set([
    'findAndModify',
    'findandmodify',
    'query',
    'sort',
    'remove',
    'update',
    'new',
    'fields',
    'upsert',
    'collation',
    'arrayFilters',
    'hint',
    'bypassDocumentValidation',
  ]),
  run(call) {
    const namespace = namespaceOf(call, call.fields.has('findAndModify') ? 'findAndModify' : 'findandmodify')
    // There are no validators to bypass.
    call.fields.flag('bypassDocumentValidation')
    checkCombination(call)
    const collection = call.engine.collection(namespace)
    const selection = readSelection(call.fields, 'query', collection, { limit: 1 })
    const record = collection === undefined ? undefined : [...selectRecords(collection, selection, call)][0]
    const project = projectionOf(call)
    const outcome = call.fields.flag('remove')
      ? removeRecord(collection, record)
      : modify(call, namespace, selection, record)
    const value = outcome.value === null || project === undefined ? outcome.value : project(outcome.value)
    return reply({ ...outcome, value })
  },
}

/** @throws MongoError 9 FailedToParse for fields that exclude each other, as MongoDB words it */
function checkCombination({ fields }: CommandCall): void {
  const update = fields.has('update')
  if (fields.flag('remove')) {
    if (update) throw new MongoError(9, "Cannot specify both an 'update' and 'remove'=true")
    if (fields.flag('upsert')) throw new MongoError(9, "Cannot specify both 'upsert'=true and 'remove'=true")
    if (fields.flag('new')) {
      throw new MongoError(
        9,
        "Cannot specify both 'new'=true and 'remove'=true; 'remove' always returns the deleted document",
      )
    }
  } else if (!update) {
    throw new MongoError(9, "Either an 'update' or 'remove'=true must be specified")
  }
}

function projectionOf({ fields, now }: CommandCall): ((document: BsonDocument) => BsonDocument) | undefined {
  const projection = fields.document('fields')
  if (projection === undefined || projection.size === 0) return undefined
  return compileProjection(projection, fields.document('query'), now)
}

function removeRecord(collection: Collection | undefined, record: StoreRecord | undefined): Outcome {
  if (collection === undefined || record === undefined) return { value: null, count: 0 }
  collection.remove(record)
  return { value: record.document, count: 1 }
}

function modify(
  call: CommandCall,
  namespace: string,
  selection: Selection,
  record: StoreRecord | undefined,
): Outcome {
  const filter = call.fields.document('query') ?? new Map()
  const change = readChange(call.fields, 'update', filter)
  const wantNew = call.fields.flag('new')
  const collection = call.engine.collection(namespace)
  if (record !== undefined && collection !== undefined) {
    const before = record.document
    change.applyTo(collection, record, selection.filter, call.now)
    return { value: wantNew ? record.document : before, updatedExisting: true, count: 1 }
  }
  if (!call.fields.flag('upsert')) return { value: null, updatedExisting: false, count: 0 }
  const inserted = change.insertInto(call.engine.ensureCollection(namespace), call.now)
  return {
    value: wantNew ? inserted : null,
    updatedExisting: false,
    upserted: inserted.get('_id') ?? null,
    count: 1,
  }
}

function reply(outcome: Outcome): BsonDocument {
  const last = new Map<string, BsonValue>([['n', new Int32(outcome.count)]])
  if (outcome.updatedExisting !== undefined) last.set('updatedExisting', outcome.updatedExisting)
  if (outcome.upserted !== undefined) last.set('upserted', outcome.upserted)
  return new Map<string, BsonValue>([
    ['lastErrorObject', last],
    ['value', outcome.value],
  ])
}

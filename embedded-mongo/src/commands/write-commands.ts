import { Int32 } from 'bson'
import type { Encodable } from '../bson-writer.ts'
import type { Collection } from '../engine/collection.ts'
import type { Steps } from '../engine/slice.ts'
import { checkCollectionName } from '../engine/store-engine.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import type { CompiledFilter } from '../semantics/filter.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { checkInsertedId, withId } from '../semantics/new-document.ts'
import { compileProjection, type Project } from '../semantics/projection.ts'
import { compileUpdate } from '../semantics/update.ts'
import { seedFromFilter } from '../semantics/upsert-seed.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { type Command, type CommandCall, namespaceOf, type Reply } from './command.ts'
import { CommandFields } from './command-fields.ts'
import { readSelection, type Selection, selectNumbers, selectOne } from './selection.ts'
import { MAX_WRITE_BATCH } from './server-commands.ts'

/** An insert of more documents than the service makes at once loads a store. */
const BULK = 50

export const insert: Command = {
  fields: new Set(['insert', 'documents', 'ordered', 'bypassDocumentValidation']),
  *run(call) {
    const namespace = writableNamespaceOf(call, 'insert')
    // There are no validators to bypass.
    call.fields.flag('bypassDocumentValidation')
    const documents = readStatements(call, 'documents')
    call.engine.ensureCollection(namespace)
    let inserted = 0
    const writeErrors = yield* runStatements(documents, call, (document) => {
      checkInsertedId(document.get('_id'))
      // Another client may have dropped the collection meanwhile.
      call.engine.ensureCollection(namespace).insert(withId(document), documents.length > BULK)
      inserted += 1
      return undefined
    })
    return new Map<string, BsonValue>([['n', new Int32(inserted)], ...writeErrors])
  },
}

const UPDATE_FIELDS = new Set(['q', 'u', 'multi', 'upsert', 'collation', 'arrayFilters', 'hint'])

interface Tally {
  matched: number
  modified: number
  upserted: BsonDocument[]
}

export const update: Command = {
  fields: new Set(['update', 'updates', 'ordered', 'bypassDocumentValidation', 'let']),
  *run(call) {
    call.fields.refuse('let')
    const namespace = writableNamespaceOf(call, 'update')
    // There are no validators to bypass.
    call.fields.flag('bypassDocumentValidation')
    const documents = readStatements(call, 'updates')
    // All statements are checked before the first is run: a misspelt option must not take effect half-way.
    const statements = documents.map(readUpdate)
    const tally: Tally = { matched: 0, modified: 0, upserted: [] }
    const writeErrors = yield* runStatements(statements, call, (statement, index) =>
      updateMatching(call, namespace, { fields: statement, index }, tally),
    )
    return new Map<string, BsonValue>([
      ['n', new Int32(tally.matched + tally.upserted.length)],
      ['nModified', new Int32(tally.modified)],
      ...(tally.upserted.length === 0 ? [] : ([['upserted', tally.upserted]] as const)),
      ...writeErrors,
    ])
  },
}

function readUpdate(document: BsonDocument): CommandFields {
  const fields = new CommandFields('update.updates', document, UPDATE_FIELDS)
  fields.required('q', fields.document('q'))
  fields.required('u', fields.raw('u'))
  return fields
}

function* updateMatching(
  call: CommandCall,
  namespace: string,
  { fields, index }: { fields: CommandFields; index: number },
  tally: Tally,
): Steps<void> {
  const multi = fields.flag('multi')
  const filter = fields.required('q', fields.document('q'))
  const change = readChange(fields, 'u', filter)
  if (multi && change.replacement) {
    throw new MongoError(9, 'multi update is not supported for replacement-style update')
  }
  const collection = call.engine.collection(namespace)
  const selection = readSelection(fields, filter, collection, { limit: multi ? 0 : 1 })
  const upsert = fields.flag('upsert')
  let matched = 0
  let modified = 0
  if (collection !== undefined) {
    matched = yield* eachMatch(call, { collection, selection, none: upsert }, (record) => {
      if (change.applyTo(collection, record, selection.filter, call.now) !== undefined) modified += 1
    })
  }
  // Counted at the end: MongoDB counts nothing for a statement that fails half-way, though its changes stay.
  tally.matched += matched
  tally.modified += modified
  if (matched > 0 || !upsert) return
  const { document } = change.insertInto(call.engine.ensureCollection(namespace), call.now)
  tally.upserted.push(
    new Map<string, BsonValue>([
      ['index', new Int32(index)],
      ['_id', document.get('_id') ?? null],
    ]),
  )
}

const DELETE_FIELDS = new Set(['q', 'limit', 'collation', 'hint'])

/** The `delete` command. */
export const remove: Command = {
  fields: new Set(['delete', 'deletes', 'ordered', 'let']),
  *run(call) {
    call.fields.refuse('let')
    const namespace = writableNamespaceOf(call, 'delete')
    const documents = readStatements(call, 'deletes')
    // All statements are checked before the first is run: a misspelt option must not take effect half-way.
    const statements = documents.map(readDelete)
    let removed = 0
    const writeErrors = yield* runStatements(statements, call, function* (statement) {
      removed += yield* removeMatching(call, namespace, statement)
    })
    return new Map<string, BsonValue>([['n', new Int32(removed)], ...writeErrors])
  },
}

function readDelete(document: BsonDocument): CommandFields {
  const fields = new CommandFields('delete.deletes', document, DELETE_FIELDS)
  fields.required('q', fields.document('q'))
  const limit = fields.required('limit', fields.integer('limit'))
  if (limit === 0 || limit === 1) return fields
  throw new MongoError(9, `The limit field in delete objects must be 0 or 1. Got ${limit}`)
}

function* removeMatching(call: CommandCall, namespace: string, statement: CommandFields): Steps<number> {
  const collection = call.engine.collection(namespace)
  const selection = readSelection(statement, statement.document('q'), collection, {
    limit: statement.integer('limit') ?? 0,
  })
  if (collection === undefined) return 0
  return yield* eachMatch(call, { collection, selection, none: false }, (record) => collection.remove(record))
}

/**
 * Writes one or all documents of a selection. All are found first, so that none is met again where its change has
 * moved it; those that no longer match at their turn are skipped. Returns how many were written.
 */
function* eachMatch(
  call: CommandCall,
  { collection, selection, none }: { collection: Collection; selection: Selection; none: boolean },
  write: (record: StoreRecord) => void,
): Steps<number> {
  if (selection.limit === 1) {
    const record = yield* selectOne(collection, selection, call, { none })
    if (record !== undefined) write(record)
    return record === undefined ? 0 : 1
  }
  let written = 0
  for (const number of yield* selectNumbers(collection, selection, call, { none })) {
    if (collection.host.slice.over) yield* collection.pause()
    const record = collection.read(number)
    if (record === undefined || !selection.filter.matches(record.document, call.now)) continue
    write(record)
    written += 1
  }
  return written
}

/** Like `namespaceOf`, for a collection that may be written: a delete in `system.x` is refused like an insert. */
function writableNamespaceOf(call: CommandCall, field: string): string {
  const namespace = namespaceOf(call, field)
  checkCollectionName(namespace)
  return namespace
}

/**
 * Reads the statements of a write command from this field.
 * @throws MongoError 16 InvalidLength outside 1 … 100 000 statements
 */
function readStatements({ fields }: CommandCall, field: string): BsonDocument[] {
  const statements = fields.required(field, fields.documents(field))
  if (statements.length >= 1 && statements.length <= MAX_WRITE_BATCH) return statements
  throw new MongoError(
    16,
    `Write batch sizes must be between 1 and ${MAX_WRITE_BATCH}. Got ${statements.length} operations.`,
  )
}

/**
 * Runs the statements of a write command. A refused one becomes a `writeErrors` entry; with `ordered`
 * (the default) it is the last one run. Returns the `writeErrors` field, or nothing if all went well.
 */
function* runStatements<T>(
  statements: readonly T[],
  call: CommandCall,
  run: (statement: T, index: number) => Steps<void> | undefined,
): Steps<[string, BsonValue][]> {
  const ordered = !call.fields.has('ordered') || call.fields.flag('ordered')
  const errors: BsonDocument[] = []
  for (const [index, statement] of statements.entries()) {
    try {
      const work = run(statement, index)
      if (work !== undefined) yield* work
    } catch (error) {
      // Anything else concerns the whole command.
      if (!(error instanceof MongoError)) throw error
      errors.push(writeError(index, error))
      if (ordered) break
    }
    if (call.engine.slice.over) yield
  }
  return errors.length === 0 ? [] : [['writeErrors', errors]]
}

/** Builds one entry of `writeErrors`. */
function writeError(index: number, error: MongoError): BsonDocument {
  return new Map<string, BsonValue>([
    ['index', new Int32(index)],
    ['code', new Int32(error.code)],
    ...error.extra,
    ['errmsg', error.message],
  ])
}

/** A compiled update, ready for stored documents and for the document an upsert makes. */
interface Change {
  /** Whether the update replaces whole documents instead of applying operators. */
  readonly replacement: boolean
  /** Changes one record; returns its new version if anything changed. @throws MongoError */
  applyTo(
    collection: Collection,
    record: StoreRecord,
    filter: CompiledFilter,
    now: Date,
  ): StoreRecord | undefined
  /** Inserts the document that the upsert makes from the filter. @throws MongoError */
  insertInto(collection: Collection, now: Date): StoreRecord
}

/**
 * Reads the update document in `field` with its `arrayFilters`.
 * @throws MongoError 9, 14 or the operator's own code; aggregation pipelines are not supported
 */
function readChange(fields: CommandFields, field: string, filter: BsonDocument): Change {
  const raw = fields.required(field, fields.raw(field))
  const update = Array.isArray(raw) ? raw : fields.required(field, fields.document(field))
  const compiled = compileUpdate(update, {
    arrayFilters: fields.documents('arrayFilters'),
  })
  return {
    replacement: compiled.replacement,
    applyTo(collection, record, compiledFilter, now) {
      const { arrayIndex } = compiledFilter.matchDetail(record.document, now)
      const { doc, changed } = compiled.apply(record.document, { now, insert: false, arrayIndex })
      return changed ? collection.replace(record, doc) : undefined
    },
    insertInto(collection, now) {
      const { doc } = compiled.apply(seedFromFilter(filter, compiled.replacement), { now, insert: true })
      return collection.insert(withId(doc))
    },
  }
}

interface Outcome {
  /** The document to return, as it was before or is after the change. */
  value: StoreRecord | undefined
  updatedExisting?: boolean
  upserted?: BsonValue
  count: number
}

export const findAndModify: Command = {
  fields: new Set([
    'findAndModify',
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
    'let',
  ]),
  *run(call) {
    call.fields.refuse('let')
    const namespace = writableNamespaceOf(call, 'findAndModify')
    // There are no validators to bypass.
    call.fields.flag('bypassDocumentValidation')
    checkCombination(call)
    const collection = call.engine.collection(namespace)
    const query = call.fields.document('query')
    const selection = readSelection(call.fields, query, collection, { limit: 1 })
    const none = call.fields.flag('upsert')
    const record = collection && (yield* selectOne(collection, selection, call, { none }))
    const project = projectionOf(call)
    const outcome = call.fields.flag('remove')
      ? removeRecord(collection, record)
      : modify(call, namespace, selection, record)
    return reply(outcome, project)
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
    if (fields.has('arrayFilters')) throw new MongoError(9, "Cannot specify 'arrayFilters' and 'remove'=true")
  } else if (!update) {
    throw new MongoError(9, "Either an 'update' or 'remove'=true must be specified")
  }
}

function projectionOf({ fields }: CommandCall): Project | undefined {
  const projection = fields.document('fields')
  if (projection === undefined || projection.size === 0) return undefined
  return compileProjection(projection)
}

function removeRecord(collection: Collection | undefined, record: StoreRecord | undefined): Outcome {
  if (collection === undefined || record === undefined) return { value: undefined, count: 0 }
  collection.remove(record)
  return { value: record, count: 1 }
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
    const after = change.applyTo(collection, record, selection.filter, call.now) ?? record
    return { value: wantNew ? after : record, updatedExisting: true, count: 1 }
  }
  if (!call.fields.flag('upsert')) return { value: undefined, updatedExisting: false, count: 0 }
  const inserted = change.insertInto(call.engine.ensureCollection(namespace), call.now)
  return {
    value: wantNew ? inserted : undefined,
    updatedExisting: false,
    upserted: inserted.document.get('_id') ?? null,
    count: 1,
  }
}

function reply({ value, count, updatedExisting, upserted }: Outcome, project: Project | undefined): Reply {
  const last = new Map<string, BsonValue>([['n', new Int32(count)]])
  if (updatedExisting !== undefined) last.set('updatedExisting', updatedExisting)
  if (upserted !== undefined) last.set('upserted', upserted)
  const shown = value && (project === undefined ? value.body : project(value.document))
  return new Map<string, Encodable>([
    ['lastErrorObject', last],
    ['value', shown ?? null],
  ])
}

import { Int32 } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { Collection } from '../engine/collection.ts'
import { CollectionIndex } from '../engine/collection-index.ts'
import type { Steps } from '../engine/slice.ts'
import { checkCollectionName } from '../engine/store-engine.ts'
import { compileFilter } from '../semantics/filter.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'
import { type Command, type CommandCall, cursorBatchSize, namespaceOf, openCursor } from './command.ts'

/** Options of MongoDB's `create` that change what a collection is; the store has plain collections only. */
const KINDS_OF_COLLECTION = [
  'capped',
  'timeseries',
  'expireAfterSeconds',
  'clusteredIndex',
  'changeStreamPreAndPostImages',
  'size',
  'max',
  'storageEngine',
  'validator',
  'validationLevel',
  'validationAction',
  'indexOptionDefaults',
  'viewOn',
  'pipeline',
  'collation',
  'encryptedFields',
] as const

export const create: Command = {
  fields: new Set(['create', ...KINDS_OF_COLLECTION]),
  run(call) {
    call.fields.refuse(...KINDS_OF_COLLECTION)
    const namespace = namespaceOf(call, 'create')
    if (call.engine.collection(namespace) !== undefined) {
      throw new MongoError(48, `Collection ${namespace} already exists.`)
    }
    call.engine.ensureCollection(namespace)
    return new Map()
  },
}

export const drop: Command = {
  fields: new Set(['drop']),
  run(call) {
    const namespace = namespaceOf(call, 'drop')
    checkCollectionName(namespace)
    const collection = call.engine.collection(namespace)
    if (collection === undefined) return new Map()
    call.engine.dropCollection(collection)
    return new Map<string, BsonValue>([
      ['nIndexesWas', new Int32(collection.indexes.length)],
      ['ns', namespace],
    ])
  },
}

export const dropDatabase: Command = {
  fields: new Set(['dropDatabase']),
  run(call) {
    const collections = call.engine.collectionsOf(call.database)
    for (const collection of collections) call.engine.dropCollection(collection)
    return collections.length === 0 ? new Map() : new Map([['dropped', call.database]])
  },
}

export const listCollections: Command = {
  fields: new Set(['listCollections', 'filter', 'nameOnly', 'authorizedCollections', 'cursor']),
  run(call) {
    // Every client may see every collection, so `authorizedCollections` changes nothing.
    call.fields.flag('authorizedCollections')
    const nameOnly = call.fields.flag('nameOnly')
    const filter = compileFilter(call.fields.document('filter') ?? new Map())
    const found = call.engine
      .collectionsOf(call.database)
      .map((collection) => describe(collection, call.database))
      .filter((description) => filter.matches(description, call.now))
      .map((description) => encodeBson(nameOnly ? shortened(description) : description))
    const namespace = `${call.database}.$cmd.listCollections`
    return openCursor(call, found, { namespace, batchSize: cursorBatchSize(call) })
  },
}

function describe(collection: Collection, database: string): BsonDocument {
  return new Map<string, BsonValue>([
    ['name', collection.namespace.slice(database.length + 1)],
    ['type', 'collection'],
    ['options', new Map()],
    ['info', new Map([['readOnly', false]])],
    ['idIndex', collection.indexes[0]?.definition ?? null],
  ])
}

function shortened(description: BsonDocument): BsonDocument {
  return new Map([...description].filter(([name]) => name === 'name' || name === 'type'))
}

/** The limit that MongoDB has. */
const MAX_INDEXES = 64

export const createIndexes: Command = {
  // `commitQuorum` is about replicas that vote on a build; a build here is done when the reply is sent.
  fields: new Set(['createIndexes', 'indexes', 'commitQuorum']),
  *run(call) {
    const namespace = namespaceOf(call, 'createIndexes')
    const specifications = call.fields.required('indexes', call.fields.documents('indexes'))
    if (specifications.length === 0) throw new MongoError(2, 'Must specify at least one index to create')
    const wanted = specifications.map((specification) => CollectionIndex.fromRequest(specification))
    const existed = call.engine.collection(namespace) !== undefined
    const collection = call.engine.ensureCollection(namespace)
    const before = collection.indexes.length
    yield* addIndexes(collection, wanted)
    const after = collection.indexes.length
    return new Map<string, BsonValue>([
      ['numIndexesBefore', new Int32(before)],
      ['numIndexesAfter', new Int32(after)],
      ['createdCollectionAutomatically', !existed],
      ...(after === before ? ([['note', 'all indexes already exist']] as const) : []),
    ])
  },
}

export const listIndexes: Command = {
  fields: new Set(['listIndexes', 'cursor']),
  run(call) {
    const namespace = namespaceOf(call, 'listIndexes')
    const collection = existing(call, namespace)
    const batchSize = cursorBatchSize(call)
    const definitions = collection.indexes.map((index) => encodeBson(index.definition))
    return openCursor(call, definitions, { namespace, batchSize })
  },
}

export const dropIndexes: Command = {
  fields: new Set(['dropIndexes', 'index']),
  run(call) {
    const collection = existing(call, namespaceOf(call, 'dropIndexes'))
    const before = collection.indexes.length
    const which = call.fields.required('index', call.fields.raw('index'))
    // All indexes are found first, so that a name that does not exist leaves the others alone.
    for (const index of chosen(collection, which)) collection.dropIndex(index)
    return new Map([['nIndexesWas', new Int32(before)]])
  },
}

/** Adds all indexes or none: if one cannot be built, those built before it are dropped again. */
function* addIndexes(collection: Collection, wanted: CollectionIndex[]): Steps<void> {
  const added: CollectionIndex[] = []
  try {
    for (const index of wanted) {
      // Another client's build of the same index has to succeed first.
      while (collection.indexes.some(({ building }) => building)) yield* collection.pause()
      if (collection.indexes.some((other) => index.sameAs(other))) continue
      if (collection.indexes.length >= MAX_INDEXES) {
        throw new MongoError(67, `add index fails, too many indexes for ${collection.namespace}`)
      }
      yield* collection.addIndex(index)
      added.push(index)
    }
  } catch (error) {
    for (const index of added)
      if (!collection.dropped && collection.indexes.includes(index)) collection.dropIndex(index)
    throw error
  }
}

function existing(call: CommandCall, namespace: string): Collection {
  const collection = call.engine.collection(namespace)
  if (collection === undefined) throw new MongoError(26, `ns does not exist: ${namespace}`)
  return collection
}

function chosen(collection: Collection, which: BsonValue): CollectionIndex[] {
  const secondary = collection.indexes.slice(1)
  if (which === '*') return secondary
  if (Array.isArray(which)) return [...new Set(which.map((name) => named(collection, name)))]
  return [named(collection, which)]
}

function named(collection: Collection, which: BsonValue): CollectionIndex {
  if (typeof which !== 'string' && !isDocument(which)) {
    throw new MongoError(
      14,
      "BSON field 'dropIndexes.index' must be a name, a key pattern or an array of names",
    )
  }
  const index = collection.indexes.find((candidate) => candidate.isNamedBy(which))
  if (index === undefined) {
    throw typeof which === 'string'
      ? new MongoError(27, `index not found with name [${which}]`)
      : new MongoError(27, "can't find index with that key")
  }
  if (index === collection.indexes[0]) throw new MongoError(72, 'cannot drop _id index')
  return index
}

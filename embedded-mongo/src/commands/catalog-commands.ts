import { Int32 } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { Collection } from '../engine/collection.ts'
import { checkCollectionName } from '../engine/store-engine.ts'
import { compileFilter } from '../semantics/filter.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { type Command, cursorBatchSize, namespaceOf, openCursor } from './command.ts'

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
    // Nobody is authorised for less than everything here, so `authorizedCollections` changes nothing.
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

export const listDatabases: Command = {
  fields: new Set(['listDatabases', 'nameOnly', 'filter', 'authorizedDatabases']),
  run(call) {
    call.fields.refuse('filter')
    if (!call.fields.flag('nameOnly')) {
      throw new MongoError(
        72,
        "'listDatabases' needs nameOnly: true; the embedded store does not count sizes",
      )
    }
    const databases = call.engine.databases().map((name) => new Map([['name', name]]))
    return new Map([['databases', databases]])
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

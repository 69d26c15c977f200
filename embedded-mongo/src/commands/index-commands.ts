import { Int32 } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { Collection } from '../engine/collection.ts'
import { CollectionIndex } from '../engine/collection-index.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { type BsonValue, isDocument } from '../semantics/values.ts'
import { type Command, type CommandCall, cursorBatchSize, namespaceOf, openCursor } from './command.ts'

/** As in MongoDB. */
const MAX_INDEXES = 64

export const createIndexes: Command = {
  // `commitQuorum` is about replicas that vote on a build; a build here is done when the reply is sent.
  fields: new Set(['createIndexes', 'indexes', 'commitQuorum']),
  run(call) {
    const namespace = namespaceOf(call, 'createIndexes')
    const specifications = call.fields.required('indexes', call.fields.documents('indexes'))
    if (specifications.length === 0) throw new MongoError(2, 'Must specify at least one index to create')
    const wanted = specifications.map((specification) => CollectionIndex.fromRequest(specification))
    const existed = call.engine.collection(namespace) !== undefined
    const collection = call.engine.ensureCollection(namespace)
    const before = collection.indexes.length
    addIndexes(collection, wanted)
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
    // Found first, all of them: a name that does not exist leaves the others alone.
    for (const index of chosen(collection, which)) collection.dropIndex(index)
    return new Map([['nIndexesWas', new Int32(before)]])
  },
}

/** All or none: an index that cannot be built takes the ones made before it down again. */
function addIndexes(collection: Collection, wanted: CollectionIndex[]): void {
  const added: CollectionIndex[] = []
  try {
    for (const index of wanted) {
      if (collection.indexes.some((other) => index.sameAs(other))) continue
      if (collection.indexes.length >= MAX_INDEXES) {
        throw new MongoError(67, `add index fails, too many indexes for ${collection.namespace}`)
      }
      collection.addIndex(index)
      added.push(index)
    }
  } catch (error) {
    for (const index of added) collection.dropIndex(index)
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
  if (Array.isArray(which)) return which.map((name) => named(collection, name))
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

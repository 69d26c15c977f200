import { setTimeout as pause } from 'node:timers/promises'
import type mongoose from 'mongoose'
import type { mongo } from 'mongoose'
import type { StoreConnection } from '../mongo/connect.ts'
import { isUnavailable } from '../mongo/failures.ts'
import { UnsuitableStoreError } from '../mongo/server.ts'

/** Indexes of a collection without a model: the rate limiter's (T66). */
const FOREIGN_INDEXES: readonly Indexes[] = [
  {
    collection: 'rate_limits',
    indexes: [
      { key: new Map([['expire', -1]]), name: 'expire_-1', expireAfterSeconds: 0 },
      { key: new Map([['key', 1]]), name: 'key_1', unique: true },
    ],
  },
]

interface Indexes {
  collection: string
  indexes: (mongo.IndexDescription & { name: string })[]
}

/** Returns every index that the service needs, of this connection's models and of `FOREIGN_INDEXES`. */
export function declaredIndexes(connection: StoreConnection): Indexes[] {
  const own = Object.values(connection.models).map((model) => ({
    collection: model.collection.name,
    indexes: model.schema.indexes().map(([fields, options]) => describeIndex(fields, options)),
  }))
  return [...own, ...FOREIGN_INDEXES].filter(({ indexes }) => indexes.length > 0)
}

function describeIndex(fields: Record<string, mongoose.IndexDirection>, options: mongoose.IndexOptions) {
  const { unique, ...rest } = options
  const key = new Map(Object.entries(fields).map(([path, direction]) => [path, directionOf(direction)]))
  const name = options.name ?? [...key].map(([path, direction]) => `${path}_${direction}`).join('_')
  return { ...rest, ...(unique ? { unique: true } : {}), key, name }
}

/** Refuses other kinds of index, which the embedded store does not have. */
function directionOf(direction: mongoose.IndexDirection): 1 | -1 {
  if (direction === 1 || direction === -1) return direction
  throw new Error(`an index of the kind ${direction}`)
}

/**
 * Creates every index; an existing one stays as it is. Unique indexes enforce guarantees, so without them there is no service.
 * @param replicated lets a majority of members complete the build, so that a missing member does not hold it up
 * @param lasting only of collections from which the store itself removes nothing
 * @throws UnsuitableStoreError
 */
export async function makeIndexes(
  connection: StoreConnection,
  replicated = false,
  lasting = false,
): Promise<void> {
  const quorum = replicated ? { commitQuorum: 'majority' } : {}
  for (const { collection, indexes } of declaredIndexes(connection)) {
    if (lasting && indexes.some(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)) continue
    // One command per collection; mongoose would send one per index.
    const make = () => connection.collection(collection).createIndexes(indexes, quorum)
    await untilAnswered(make).catch((error: unknown) => {
      throw isUnavailable(error) ? error : refused(collection, error)
    })
  }
}

function refused(collection: string, cause: unknown): UnsuitableStoreError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnsuitableStoreError(`The store refuses an index of ${collection}: ${reason}.`, { cause })
}

/** The longest wait for a build that the store is working on. */
const BUILD_MS = 3_600_000
const REST_MS = 2_000

/** Asks again after a timeout: a build may outlast an operation's limit, and the store then goes on with the same build. */
async function untilAnswered(make: () => Promise<unknown>): Promise<void> {
  for (const begun = performance.now(); ; ) {
    try {
      await make()
      return
    } catch (error) {
      const late = error instanceof Error && error.name === 'MongoNetworkTimeoutError'
      if (!late || performance.now() - begun > BUILD_MS) throw error
      await pause(REST_MS)
    }
  }
}

/** Checks whether an index is missing. Asks one collection after the other: all at once would open a connection each, too slow on a busy machine. */
export async function isIndexMissing(connection: StoreConnection): Promise<boolean> {
  for (const { collection, indexes } of declaredIndexes(connection)) {
    const there = await namesIn(connection, collection)
    if (!indexes.every(({ name }) => there.has(name))) return true
  }
  return false
}

async function namesIn(connection: StoreConnection, collection: string): Promise<ReadonlySet<string>> {
  try {
    const found = await connection.collection(collection).listIndexes().toArray()
    return new Set(found.map(({ name }) => String(name)))
  } catch (error) {
    // NamespaceNotFound: the collection does not exist yet.
    if (error instanceof Error && 'code' in error && error.code === 26) return new Set()
    throw error
  }
}

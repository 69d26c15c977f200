import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type mongoose from 'mongoose'
import type { mongo } from 'mongoose'
import type { Clock, Log } from '../ports/ports.ts'
import { beyond } from './clock.ts'
import type { StoreConnection } from './mongo/connect.ts'
import { damageTold, isUnavailable, unlessTaken } from './mongo/failures.ts'
import { UnsuitableStoreError } from './mongo/server.ts'
import { PASSED_OVER } from './mongo/sound-reads.ts'

/** Raised by one with every change of an index; `test/store/indexes.test.ts` fails until it is. */
export const SCHEMA_VERSION = 10

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
 * @throws UnsuitableStoreError
 */
export async function makeIndexes(connection: StoreConnection, replicated = false): Promise<void> {
  const quorum = replicated ? { commitQuorum: 'majority' } : {}
  for (const { collection, indexes } of declaredIndexes(connection)) {
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

/** The version of the indexes a store has, and the lease of the process that is making them. */
interface SchemaDocument {
  _id: string
  version?: number
  holder?: string
  until?: Date | null
}

const ID = 'indexes'
const LEASE_MS = 30_000
const LOOK_EVERY_MS = 500

interface Preparing {
  log: Log
  clock: Clock
  /** See `makeIndexes`. */
  replicated: boolean
  /** Also makes indexes that were made once but are missing, for example after a restore of the documents alone. */
  thorough: boolean
}

/**
 * Makes the indexes in a store that has those of an older version, or none. One process makes them while the others wait: none
 * may serve without the indexes.
 * @throws UnsuitableStoreError
 */
export async function prepareIndexes(connection: StoreConnection, preparing: Preparing): Promise<void> {
  const { log, clock, replicated, thorough } = preparing
  const schema = connection.collection<SchemaDocument>('schema')
  const areReady = async (): Promise<boolean> => {
    const { version = 0 } = (await readVersion(connection, schema)) ?? {}
    return version >= SCHEMA_VERSION && !(thorough && (await isOneMissing(connection)))
  }
  if (await areReady()) return
  const lease = createLease(schema, clock)
  for (let told = false; !(await lease.take()); told = true) {
    if (!told) log.info({}, 'another process builds the indexes; waiting for it')
    await pause(LOOK_EVERY_MS)
    if (await areReady()) return
  }
  log.info({ version: SCHEMA_VERSION }, 'building the indexes; this takes a while with many documents')
  const renewal = setInterval(() => void lease.renew().catch(ignore), LEASE_MS / 3)
  try {
    await makeIndexes(connection, replicated)
    await lease.end({ $max: { version: SCHEMA_VERSION } })
    log.info({ version: SCHEMA_VERSION }, 'the indexes are built')
  } catch (error) {
    await lease.end({}).catch(ignore)
    throw error
  } finally {
    clearInterval(renewal)
  }
}

/** Reads the version. A damaged document can be neither read nor overwritten; what it says can be found out, so it is dropped. */
async function readVersion(
  connection: StoreConnection,
  schema: mongo.Collection<SchemaDocument>,
): Promise<SchemaDocument | null> {
  try {
    return await schema.findOne({ _id: ID })
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    connection.emit(PASSED_OVER, error)
    await schema.drop()
    return null
  }
}

function ignore(): void {}

/** The lease for making indexes; it lapses when the process that holds it dies. */
function createLease(schema: mongo.Collection<SchemaDocument>, clock: Clock) {
  const holder = randomUUID()
  const held = () => ({ holder, until: new Date(clock.now().getTime() + LEASE_MS) })
  return {
    async take(): Promise<boolean> {
      if (await unlessTaken(() => schema.insertOne({ _id: ID, ...held() }))) return true
      const now = clock.now()
      const latest = beyond(new Date(now.getTime() + LEASE_MS))
      const free = { _id: ID, $or: [{ until: null }, { until: { $lte: now } }, { until: { $gt: latest } }] }
      return (await schema.updateOne(free, { $set: held() })).matchedCount === 1
    },
    async renew(): Promise<void> {
      await schema.updateOne({ _id: ID, holder }, { $set: held() })
    },
    async end(outcome: mongo.UpdateFilter<SchemaDocument>): Promise<void> {
      await schema.updateOne({ _id: ID, holder }, { ...outcome, $unset: { holder: 1, until: 1 } })
    },
  }
}

/** Asks one collection after the other: all at once would open a connection each, too slow on a busy machine. */
async function isOneMissing(connection: StoreConnection): Promise<boolean> {
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

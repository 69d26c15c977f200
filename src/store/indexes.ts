import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type mongoose from 'mongoose'
import type { mongo } from 'mongoose'
import type { Clock, Log } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'
import { damageTold, isUnavailable, PASSED_OVER, unlessTaken } from './failures.ts'
import { UnsuitableStoreError } from './server.ts'

/** Grows by one with every change of an index; `test/store/indexes.test.ts` tells when. */
export const SCHEMA_VERSION = 6

/** Of collections without a model: those of the rate limiter, which would make them with every start (T66). */
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

/** Every index that there is to be on this connection's models. */
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

/** The embedded store has no other kinds of index. */
function directionOf(direction: mongoose.IndexDirection): 1 | -1 {
  if (direction === 1 || direction === -1) return direction
  throw new Error(`an index of the kind ${direction}`)
}

/**
 * Creates every index; what is there already stays as it is. Unique indexes carry promises, so no index, no service.
 * @param replicated a member that is missing must not hold up the build: a majority is enough
 * @throws UnsuitableStoreError
 */
export async function makeIndexes(connection: StoreConnection, replicated = false): Promise<void> {
  const quorum = replicated ? { commitQuorum: 'majority' } : {}
  for (const { collection, indexes } of declaredIndexes(connection)) {
    // One command for a collection: mongoose sends one for each index.
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

/** How long a build may take that the store works on. */
const BUILD_MS = 3_600_000
const REST_MS = 2_000

/** A build takes longer than an operation may. The store goes on with it, and asking again waits for the same one. */
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

/** Which version of the indexes a store has, and which process makes them just now. */
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
  /** Also makes those that are missing though they were made once, as after a restore of documents alone. */
  thorough: boolean
}

/**
 * Makes the indexes in a store that has those of an older version, or none. One process does, and the others wait for it: none
 * may serve without.
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
    if (!told) log.info({}, 'another process makes the indexes; waiting for it')
    await pause(LOOK_EVERY_MS)
    if (await areReady()) return
  }
  log.info({ version: SCHEMA_VERSION }, 'making the indexes; with many documents this takes a while')
  const renewal = setInterval(() => void lease.renew().catch(ignore), LEASE_MS / 3)
  try {
    await makeIndexes(connection, replicated)
    await lease.end({ $max: { version: SCHEMA_VERSION } })
    log.info({ version: SCHEMA_VERSION }, 'the indexes are made')
  } catch (error) {
    await lease.end({}).catch(ignore)
    throw error
  } finally {
    clearInterval(renewal)
  }
}

/** Damaged it can be neither read nor written. It says only what can be found out again, so it is written again. */
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

/** The right to make indexes; it lapses when the process that holds it dies. */
function createLease(schema: mongo.Collection<SchemaDocument>, clock: Clock) {
  const holder = randomUUID()
  const held = () => ({ holder, until: new Date(clock.now().getTime() + LEASE_MS) })
  return {
    async take(): Promise<boolean> {
      if (await unlessTaken(() => schema.insertOne({ _id: ID, ...held() }))) return true
      const free = { _id: ID, $or: [{ until: null }, { until: { $lte: clock.now() } }] }
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

/** One after the other: asked all at once they open a connection each, which a busy machine does not get done in time. */
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
    // NamespaceNotFound: the collection never was.
    if (error instanceof Error && 'code' in error && error.code === 26) return new Set()
    throw error
  }
}

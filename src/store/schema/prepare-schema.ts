import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { mongo } from 'mongoose'
import type { Clock, Log } from '../../ports/ports.ts'
import { beyond } from '../clock.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { UnsuitableStoreError } from '../mongo/server.ts'
import { isIndexMissing, makeIndexes } from './indexes.ts'
import type { Migration } from './migration.ts'
import { MIGRATIONS, OLDEST_BESIDE, SCHEMA_VERSION } from './migrations.ts'

/** The version of a store, and the lease of the process that is changing it. */
interface SchemaDocument {
  _id: string
  version?: number
  /** The oldest version whose processes may use the store (`OLDEST_BESIDE`). Stores of version 10 have none. */
  oldest?: number
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
 * Brings a store of an older version, or a new one, to this version: documents first, then indexes. One process does so while the
 * others of this version wait. After a crash the next process goes on.
 * @throws UnsuitableStoreError, also for a store of a newer version that this one would misread
 */
export async function prepareSchema(connection: StoreConnection, preparing: Preparing): Promise<void> {
  const { log, clock, replicated, thorough } = preparing
  const areReady = async (): Promise<boolean> => {
    const { version } = await readSchema(connection)
    return version >= SCHEMA_VERSION && !(thorough && (await isIndexMissing(connection)))
  }
  if (await areReady()) return
  const lease = createLease(schemaOf(connection), clock)
  for (let told = false; !(await lease.take()); told = true) {
    if (!told) log.info({}, 'another process prepares the store; waiting for it')
    await pause(LOOK_EVERY_MS)
    if (await areReady()) return
  }
  log.info({ version: SCHEMA_VERSION }, 'preparing the store; this takes a while with many documents')
  const renewal = setInterval(() => void lease.renew().catch(ignore), LEASE_MS / 3)
  try {
    // First: from here on a process that would misread the new documents refuses the store.
    await lease.note({ $max: { oldest: OLDEST_BESIDE } })
    for (const migration of await readPending(connection)) await migrate(connection, migration, log)
    await makeIndexes(connection, replicated)
    await lease.end({ $max: { version: SCHEMA_VERSION } })
    log.info({ version: SCHEMA_VERSION }, 'the store is ready')
  } catch (error) {
    await lease.end({}).catch(ignore)
    throw error
  } finally {
    clearInterval(renewal)
  }
}

const TELL_EVERY_MS = 5_000

async function migrate(connection: StoreConnection, { title, run }: Migration, log: Log): Promise<void> {
  log.info({}, `migration: ${title}`)
  let told = performance.now()
  await run(connection, (done) => {
    if (performance.now() - told < TELL_EVERY_MS) return
    told = performance.now()
    log.info({ documents: done }, `migration: ${title}: going on`)
  })
}

/** Lists the migrations that a store still needs, oldest first; none for a new store. @throws UnsuitableStoreError as `readSchema` */
export async function readPending(connection: StoreConnection): Promise<readonly Migration[]> {
  const { version } = await readSchema(connection)
  return version === 0 ? [] : MIGRATIONS.filter((migration) => migration.version > version)
}

/**
 * Reads the store's version: 0 for a new store.
 * @throws UnsuitableStoreError when a newer version has changed the store so that this one would misread it
 */
export async function readSchema(connection: StoreConnection): Promise<{ version: number }> {
  const { version = 0, oldest = 0 } = (await schemaOf(connection).findOne({ _id: ID })) ?? {}
  if (oldest > SCHEMA_VERSION)
    throw new UnsuitableStoreError(
      `A newer version of Countersign has changed this store: its schema needs version ${oldest} or later, and this Countersign has ${SCHEMA_VERSION}. Nothing was changed. Start the newer version, or restore the backup made before the upgrade.`,
    )
  return { version }
}

const WATCH_EVERY_MS = 10_000

/**
 * Looks again and again whether a newer version has begun to change the store so that this process would misread it.
 * @returns `changed`, which resolves with the reason once it has; `stop` ends the looking
 */
export function watchSchema(connection: StoreConnection): { changed: Promise<Error>; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  const changed = new Promise<Error>((resolve) => {
    const look = () =>
      readSchema(connection).catch((error: unknown) => {
        // A store that is away is found by whoever uses it.
        if (error instanceof UnsuitableStoreError) resolve(error)
      })
    timer = setInterval(look, WATCH_EVERY_MS).unref()
  })
  return { changed, stop: () => clearInterval(timer) }
}

function schemaOf(connection: StoreConnection): mongo.Collection<SchemaDocument> {
  return connection.collection<SchemaDocument>('schema')
}

function ignore(): void {}

/** The lease for changing the store; it lapses when the process that holds it dies. */
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
    async note(change: mongo.UpdateFilter<SchemaDocument>): Promise<void> {
      await schema.updateOne({ _id: ID, holder }, change)
    },
    async end(outcome: mongo.UpdateFilter<SchemaDocument>): Promise<void> {
      await schema.updateOne({ _id: ID, holder }, { ...outcome, $unset: { holder: 1, until: 1 } })
    },
  }
}

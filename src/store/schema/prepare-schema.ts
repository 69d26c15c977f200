import type { mongo } from 'mongoose'
import type { Clock, Log } from '../../ports/ports.ts'
import { doOnce, LEASES, type LeaseDocument } from '../lease.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { UnsuitableStoreError } from '../mongo/server.ts'
import { isIndexMissing, makeIndexes } from './indexes.ts'
import type { Migration } from './migration.ts'
import { MIGRATIONS, OLDEST_BESIDE, SCHEMA_VERSION } from './migrations.ts'

const ID = 'indexes'

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
    const version = await readSchema(connection)
    return version >= SCHEMA_VERSION && !(thorough && (await isIndexMissing(connection)))
  }
  await doOnce(connection, clock, {
    id: ID,
    isDone: areReady,
    onWait: () => log.info({}, 'another process prepares the store; waiting for it'),
    async work(note) {
      log.info({ version: SCHEMA_VERSION }, 'preparing the store; this takes a while with many documents')
      // First: from here on a process that would misread the new documents refuses the store.
      await note({ $max: { oldest: OLDEST_BESIDE } })
      for (const migration of await readPending(connection)) await migrate(connection, migration, log)
      await makeIndexes(connection, replicated)
      log.info({ version: SCHEMA_VERSION }, 'the store is ready')
      return { $max: { version: SCHEMA_VERSION } }
    },
  })
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
  const version = await readSchema(connection)
  return version === 0 ? [] : MIGRATIONS.filter((migration) => migration.version > version)
}

/**
 * Reads the store's version: 0 for a new store.
 * @throws UnsuitableStoreError when a newer version has changed the store so that this one would misread it
 */
export async function readSchema(connection: StoreConnection): Promise<number> {
  const { version = 0, oldest = 0 } = (await schemaOf(connection).findOne({ _id: ID })) ?? {}
  if (oldest > SCHEMA_VERSION)
    throw new UnsuitableStoreError(
      `A newer version of Countersign has changed this store: its schema needs version ${oldest} or later, and this Countersign has ${SCHEMA_VERSION}. Nothing was changed. Start the newer version, or restore the backup made before the upgrade.`,
    )
  return version
}

/** Notes in a store that was loaded from an archive which version its documents are of. */
export async function noteVersion(connection: StoreConnection, version: number): Promise<void> {
  const change = { $max: { version, oldest: OLDEST_BESIDE } }
  await schemaOf(connection).updateOne({ _id: ID }, change, { upsert: true })
}

/** From here on processes of earlier versions refuse the store: they do not know what it holds after a restore. */
export async function refuseEarlierVersions(connection: StoreConnection): Promise<void> {
  await schemaOf(connection).updateOne({ _id: ID }, { $max: { oldest: SCHEMA_VERSION } })
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

function schemaOf(connection: StoreConnection): mongo.Collection<LeaseDocument> {
  return connection.collection<LeaseDocument>(LEASES)
}

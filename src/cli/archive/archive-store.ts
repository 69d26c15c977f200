import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { readdir, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { copyStore, findRunningStore, StoreFileError, salvageStore, startEmbeddedStore } from 'embedded-mongo'
import { undoAll } from '../../compose/compose.ts'
import { openStore } from '../../compose/open-store.ts'
import type { Config } from '../../config/config.ts'
import type { TrailDeps } from '../../flow/audit/check-states.ts'
import type { Clock, Log } from '../../ports/ports.ts'
import type { Manifest } from '../../store/archive/archive-format.ts'
import { holdImport, type ImportHold, refuseUnfinished } from '../../store/archive/import-note.ts'
import { createRescue } from '../../store/archive/load-archive.ts'
import {
  isQuiet,
  openSnapshot,
  type Source,
  snapshotInWords,
  untilQuiet,
} from '../../store/archive/write-archive.ts'
import { createAuditTrail } from '../../store/audit/audit-trail.ts'
import { createLogStore } from '../../store/audit/log.ts'
import { createStateSurvey } from '../../store/audit/state-survey.ts'
import { readHello } from '../../store/clock.ts'
import { createPushKeyStore } from '../../store/delivery/push-keys.ts'
import { connectStore, type StoreConnection } from '../../store/mongo/connect.ts'
import { checkServer, inWords, type Server } from '../../store/mongo/server.ts'
import { makeIndexes } from '../../store/schema/indexes.ts'
import { prepareSchema } from '../../store/schema/prepare-schema.ts'
import { createSigningKeyStore } from '../../store/signing-keys.ts'
import { createStores } from '../../store/stores.ts'
import { CliError } from '../terminal.ts'
import { saveMemory } from './save-memory.ts'

type StoreSettings = Pick<Config, 'mongodbUri' | 'dataDir' | 'secrets' | 'storeTimeoutMs'>

/** Batches of thousands of documents take longer than an operation of the service. */
const OPERATION_MS = 120_000

/** A store at one moment. */
export interface Frozen extends Source {
  server: Server
  /** No service works on the store. */
  stopped: boolean
  /** @throws StoreInUseError if something wrote meanwhile to a store that has no snapshots */
  check(): Promise<void>
}

/**
 * Lets the work read a store as it is at one moment: an embedded store that runs by a copy, a replica set by a snapshot, and any other
 * store only while no service uses it.
 * @param embedded the store is the one in the data directory
 * @param log is told what is waited for
 * @throws StoreInUseError, UnfinishedImportError, and what opening a store throws
 */
export async function withFrozenStore<Result>(
  config: StoreSettings,
  embedded: boolean,
  log: Pick<Log, 'warn'>,
  work: (source: Frozen) => Promise<Result>,
): Promise<Result> {
  const undos: (() => Promise<void>)[] = []
  try {
    const running = embedded && (await findRunningStore(config.dataDir)) !== undefined
    const uri = await openFrozen(config, { embedded, running }, undos, log)
    saveMemory()
    const connection = await connect(uri, config)
    undos.push(() => connection.close())
    const server = await checkServer(connection)
    await refuseUnfinished(connection)
    const check = async () => undefined
    if (embedded) return await work({ connection, server, stopped: !running, check })
    if (server.kind === 'replica set' || server.kind === 'mongos') {
      const session = openSnapshot(connection)
      undos.push(() => session.endSession())
      return await work({ connection, session, server, stopped: await isQuiet(connection), check })
    }
    const waits = 'waiting for 30 s in which no service works on the store'
    const refuseRun = await untilQuiet(connection, () => log.warn({}, waits))
    return await work({ connection, server, stopped: true, check: refuseRun })
  } catch (error) {
    throw inWords(snapshotInWords(error))
  } finally {
    await undoAll(undos.reverse())
  }
}

function connect(uri: string, { storeTimeoutMs }: StoreSettings): Promise<StoreConnection> {
  return connectStore(uri, Math.max(storeTimeoutMs, OPERATION_MS))
}

/** Opens the embedded store itself, or a copy if it runs; adds to `undos` whatever closes and removes them. @returns the address */
async function openFrozen(
  config: StoreSettings,
  { embedded, running }: { embedded: boolean; running: boolean },
  undos: (() => Promise<void>)[],
  log: Pick<Log, 'warn'>,
): Promise<string> {
  if (running) {
    const copy = await copyRunning(config.dataDir, undos)
    const store = await startEmbeddedStore({ dataDir: copy })
    undos.push(() => store.close())
    return store.uri
  }
  const store = await openStore(embedded ? { ...config, mongodbUri: undefined } : config, false, log)
  undos.push(() => store.close())
  return store.uri
}

/**
 * Lets the work read what is whole in a damaged embedded store: in a new store with those documents, and without the others.
 * @throws StoreLockedError while a process serves it; what opening a store throws
 */
export async function withRescuedStore<Result>(
  config: StoreSettings,
  work: (source: Frozen, lost: NonNullable<Manifest['lost']>) => Promise<Result>,
): Promise<Result> {
  const undos: (() => Promise<void>)[] = []
  try {
    const store = await startEmbeddedStore({ dataDir: await makeCopyFolder(config.dataDir, undos) })
    undos.push(() => store.close())
    saveMemory()
    const connection = await connect(store.uri, config)
    undos.push(() => connection.close())
    const lost: NonNullable<Manifest['lost']> = []
    const rescue = createRescue(connection)
    for await (const held of wholeDocuments(config.dataDir)) {
      const collection = held.namespace.slice(held.namespace.indexOf('.') + 1)
      if ('body' in held) await rescue.add(collection, held.body)
      else lost.push({ collection, what: held.damaged, documents: held.documents })
    }
    await rescue.end()
    const server = await checkServer(connection)
    return await work({ connection, server, stopped: true, check: async () => undefined }, lost)
  } finally {
    await undoAll(undos.reverse())
  }
}

/** @throws CliError when SQLite cannot read even the list of what is in the file */
async function* wholeDocuments(dataDir: string): ReturnType<typeof salvageStore> {
  try {
    yield* salvageStore(dataDir)
  } catch (error) {
    if (!(error instanceof StoreFileError)) throw error
    const message = `Nothing can be saved from ${dataDir}: the pages that say where the documents are cannot be read. Keep the file, and restore a backup.`
    throw new CliError('not_salvageable', message)
  }
}

/** Those of earlier versions had the id of their process. */
const COPY = /^export-[0-9a-f]+$/
/** A copy that is being made is written to; one that is being read is served. */
const IDLE_MS = 5 * 60_000

/**
 * Copies the store that another process serves, into the data directory: nothing of it is then written in the clear anywhere else, and
 * as nobody else may read it there.
 */
async function copyRunning(dataDir: string, undos: (() => Promise<void>)[]): Promise<string> {
  const copy = await makeCopyFolder(dataDir, undos)
  await copyStore(dataDir, copy)
  return copy
}

/**
 * Names a folder for a copy, which `undos` removes, and removes those of exports that were killed. The id of a process names none: two
 * containers that share the data directory both have a process 1. @throws StoreFileError
 */
async function makeCopyFolder(dataDir: string, undos: (() => Promise<void>)[]): Promise<string> {
  for (const name of readdirSync(dataDir).filter((name) => COPY.test(name))) {
    const left = join(dataDir, name)
    if (await isIdle(left)) await remove(left)
  }
  await refuseFull(dataDir)
  const copy = join(dataDir, `export-${randomBytes(8).toString('hex')}`)
  undos.push(() => remove(copy))
  return copy
}

const remove = (path: string) => rm(path, { recursive: true, force: true })

/** Checks whether no process works on a copy, by what processes in other containers see too. */
async function isIdle(copy: string): Promise<boolean> {
  if ((await findRunningStore(copy)) !== undefined) return false
  // Another export may be removing its copy at this moment.
  const inside = await readdir(copy, { recursive: true }).catch(() => [])
  const files = ['.', ...inside]
  const changed = files.map((name) => statSync(join(copy, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return Date.now() - Math.max(...changed) > IDLE_MS
}

/** A full disk would stop the service whose store is copied. @throws StoreFileError */
async function refuseFull(dataDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(dataDir)
  const files = ['store.db', 'store.db-wal'].map((name) => join(dataDir, name)).filter(existsSync)
  const sizes = await Promise.all(files.map(async (path) => (await stat(path)).size))
  const needed = 2 * sizes.reduce((sum, size) => sum + size, 0)
  if (bavail * bsize >= needed) return
  const mb = (bytes: number): number => Math.ceil(bytes / 1e6)
  throw new StoreFileError(
    `the copy of the store that an archive is made of, in ${dataDir}, takes a disk with ${mb(needed)} MB free, twice the size of the store, and there are ${mb(bavail * bsize)} MB. Copy it to another disk and export that copy: countersign backup --to <folder>, then DATA_DIR=<folder> countersign export <file>`,
  )
}

/** A store that an archive is imported into. */
export interface ImportTarget {
  connection: StoreConnection
  hold: ImportHold
  /** Makes indexes of an empty store: the store takes longer to read all documents once more for each. */
  makeIndexes(): Promise<void>
  /** Brings the documents to this version, and makes the indexes that are missing. */
  prepare(): Promise<void>
  /** What a check of the audit trail reads. */
  audit(): TrailDeps
}

/**
 * Opens the store of the configuration, which is made if there is none, for the import of the archive with this checksum.
 * @throws what opening a store and `holdImport` throw
 */
export async function withImportTarget<Result>(
  config: StoreSettings,
  archive: string,
  log: Log,
  work: (target: ImportTarget) => Promise<Result>,
): Promise<Result> {
  const undos: (() => Promise<void>)[] = []
  try {
    const store = await openStore(config, false, log, { restores: true })
    undos.push(() => store.close())
    saveMemory()
    const connection = await connect(store.uri, config)
    undos.push(() => connection.close())
    const { kind } = await checkServer(connection)
    const replicated = kind === 'replica set' || kind === 'mongos'
    const { skewMs } = await readHello(connection)
    const clock: Clock = { now: () => new Date(Date.now() + skewMs), steady: () => performance.now() }
    declareModels(connection, clock)
    // Whoever has opened the file of an embedded store has it alone.
    const alone = config.mongodbUri === undefined
    return await holdImport(connection, archive, { clock, alone }, (hold) =>
      work({
        connection,
        hold,
        makeIndexes: () => makeIndexes(connection, replicated, true),
        prepare: () => prepareSchema(connection, { log, clock, replicated, thorough: true }),
        audit: () => ({
          trail: createAuditTrail(connection),
          logs: createLogStore(connection),
          survey: createStateSurvey(connection),
        }),
      }),
    )
  } catch (error) {
    throw inWords(error)
  } finally {
    await undoAll(undos.reverse())
  }
}

/** The models say which indexes there are. */
function declareModels(connection: StoreConnection, clock: Clock): void {
  const ignore = (): void => undefined
  createStores(connection, clock, ignore, ignore, { mostMs: 0, idleMs: 0 })
  createSigningKeyStore(connection)
  createPushKeyStore(connection)
  createAuditTrail(connection)
}

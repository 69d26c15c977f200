import { once } from 'node:events'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { SlicedCommandService } from './command-service.ts'
import {
  chooseSocketPath,
  makePrivate,
  prepareDataDirectory,
  readLockNote,
  refuseForeign,
  refuseLink,
  type StoreFiles,
  StoreLockedError,
  storeFiles,
  writeLockNote,
} from './data-directory.ts'
import type { DurableFile } from './engine/durable-file.ts'
import { explainFileError, FileBusyError, type StoreDamageError } from './engine/file-errors.ts'
import { startHousekeeping } from './engine/housekeeping.ts'
import { type PlanReport, StoreEngine } from './engine/store-engine.ts'
import { openWhole } from './engine/survey.ts'
import { MongoError } from './semantics/mongo-error.ts'
import { Connection } from './wire/connection.ts'

/** The most connections at once; a driver's pool is 100 by default. */
const MAX_CONNECTIONS = 1000

/** Connections beyond {@link MAX_CONNECTIONS} that are accepted to be told why they are refused. */
const REFUSED_CONNECTIONS = 100

/** How often the store checks that clients can still find it. */
const LOOK_EVERY_MS = 5_000

/** How long clients may take to read their last replies when the store closes. */
const CLOSE_MS = 1000

/** A store that is listening, in this thread. */
export interface StoreServer {
  readonly socketPath: string
  readonly engine: StoreEngine
  /** Commits pending writes, sends their replies, closes all connections and releases the directory. */
  close(): Promise<void>
}

/**
 * `onDamage` is called once, when the store serves nothing any more because its file is damaged. The others are for tests: another
 * file than a {@link DurableFile}, a callback for the plan of each statement, and limits that are soon reached.
 */
export interface ServeOptions {
  onDamage?: (damage: StoreDamageError) => void
  openFile?: (path: string) => DurableFile
  onPlan?: ((report: PlanReport) => void) | undefined
  maxConnections?: number
  lookEveryMs?: number
}

/**
 * Opens the data directory and serves it. This blocks the thread it runs in while commands execute; the
 * service uses {@link startEmbeddedStore}, which gives it a thread of its own.
 * @throws StoreLockedError when another store holds the directory; StoreFileError when it cannot be used
 */
export async function serveStore(dataDir: string, options: ServeOptions = {}): Promise<StoreServer> {
  const files = storeFiles(dataDir)
  try {
    refuseForeign(files)
    refuseLink(files)
    prepareDataDirectory(files)
    return await open(files, options)
  } catch (error) {
    throw explainFileError(error, files.database)
  }
}

async function open(files: StoreFiles, options: ServeOptions): Promise<StoreServer> {
  const engine = openEngine(files, options)
  try {
    return await listen(files, engine, options)
  } catch (error) {
    try {
      engine.close()
    } catch {
      // The first error says what kept the store from being opened.
    }
    throw error
  }
}

function openEngine(files: StoreFiles, { openFile, onPlan }: ServeOptions): StoreEngine {
  try {
    const engine = new StoreEngine(openFile?.(files.database) ?? openWhole(files.database))
    engine.onPlan = onPlan
    // The note of a store that was killed; no client may take it for ours.
    rmSync(files.lock, { force: true })
    return engine
  } catch (error) {
    if (error instanceof FileBusyError) throw new StoreLockedError(files.directory, readLockNote(files))
    throw error
  }
}

async function listen(
  files: StoreFiles,
  engine: StoreEngine,
  { maxConnections = MAX_CONNECTIONS, lookEveryMs = LOOK_EVERY_MS, onDamage }: ServeOptions,
): Promise<StoreServer> {
  const { socketPath, temporary } = chooseSocketPath(files)
  const service = new SlicedCommandService(engine, onDamage)
  const sockets = new Set<Socket>()
  let connections = 0
  let served = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    if (served >= maxConnections) {
      new Connection(socket, service, connections, tooMany(maxConnections))
      return
    }
    served += 1
    socket.once('close', () => {
      served -= 1
    })
    new Connection(socket, service, connections)
  })
  // Connections beyond the limit are told why they are refused, as long as there is room for that.
  server.maxConnections = maxConnections + REFUSED_CONNECTIONS
  try {
    await announce(server, files, socketPath)
  } catch (error) {
    // A server that listens keeps its thread alive.
    server.close()
    throw error
  }
  const stopLooking = keepFindable(server, service, files, socketPath, lookEveryMs)
  const stopHousekeeping = startHousekeeping(engine, service)
  return {
    socketPath,
    engine,
    async close() {
      stopHousekeeping()
      await stopLooking()
      const closed = new Promise((done) => server.close(done))
      service.stop()
      for (const socket of sockets) socket.destroySoon()
      // A client that does not read its last reply must not keep the store from closing.
      const impatience = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_MS)
      await closed
      clearTimeout(impatience)
      try {
        // The note is removed while the lock is still held; later it could be the next holder's.
        rmSync(files.lock, { force: true })
        if (temporary !== undefined) rmSync(dirname(socketPath), { recursive: true, force: true })
      } finally {
        engine.close()
      }
    },
  }
}

/** Listens on the socket, and writes the lock note that names it. */
async function announce(server: Server, files: StoreFiles, socketPath: string): Promise<void> {
  server.listen({ path: socketPath, backlog: 511 })
  await once(server, 'listening')
  if (process.platform !== 'win32') chmodSync(socketPath, 0o600)
  writeLockNote(files, { pid: process.pid, socketPath })
}

/**
 * Listens again when the socket or the note was removed: open connections would go on, but no new one could be made. When the
 * file itself was removed or replaced, every command is refused, also where nothing is written that would find out.
 * @returns a function that ends this
 */
function keepFindable(
  server: Server,
  service: SlicedCommandService,
  files: StoreFiles,
  socketPath: string,
  everyMs: number,
): () => Promise<void> {
  let healing = Promise.resolve()
  const look = async (): Promise<void> => {
    if (service.refuseIfGone()) return
    if (!existsSync(files.lock) || !(isPipe || existsSync(socketPath))) {
      // Only stops listening; open connections are kept.
      server.close()
      if (!isPipe) makePrivate(dirname(socketPath))
      await announce(server, files, socketPath)
    }
  }
  const timer = setInterval(() => {
    // A repair that fails is tried again at the next look.
    healing = healing.then(look).catch(() => undefined)
  }, everyMs).unref()
  return () => {
    clearInterval(timer)
    return healing
  }
}

const isPipe = process.platform === 'win32'

function tooMany(count: number): MongoError {
  return new MongoError(365, `the embedded store serves ${count} connections at once, and as many are open`)
}

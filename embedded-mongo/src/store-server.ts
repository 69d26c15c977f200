import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { Double, Int32 } from 'bson'
import { encodeBson } from './bson-writer.ts'
import {
  create,
  createIndexes,
  drop,
  dropDatabase,
  dropIndexes,
  listCollections,
  listDatabases,
  listIndexes,
} from './commands/catalog-commands.ts'
import { type Command, CursorReply } from './commands/command.ts'
import { CommandFields } from './commands/command-fields.ts'
import { readGenericArguments } from './commands/generic-arguments.ts'
import {
  aggregate,
  count,
  distinct,
  endSessions,
  find,
  getMore,
  killCursors,
} from './commands/read-commands.ts'
import { authenticate, buildInfo, hello, legacyHello, ping } from './commands/server-commands.ts'
import { findAndModify, insert, remove, update } from './commands/write-commands.ts'
import {
  chooseSocketPath,
  prepareDataDirectory,
  readLockNote,
  type StoreFiles,
  StoreLockedError,
  storeFiles,
  writeLockNote,
} from './data-directory.ts'
import { DurableFile, FileBusyError } from './engine/durable-file.ts'
import { startHousekeeping } from './engine/housekeeping.ts'
import { StoreEngine, type StoreFile } from './engine/store-engine.ts'
import { MongoError } from './semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from './semantics/values.ts'
import { type CommandService, Connection } from './wire/connection.ts'

/** Connections at once; a driver's pool is 100 by default. */
const MAX_CONNECTIONS = 1000

/** How long clients may take to read their last replies when the store closes. */
const CLOSE_MS = 1000

/** A store that is listening, in this thread. */
export interface StoreServer {
  readonly socketPath: string
  readonly engine: StoreEngine
  /** Commits what is pending, answers it, closes all connections and lets go of the directory. */
  close(): Promise<void>
}

/**
 * Opens the data directory and serves it. This blocks the thread it runs in while commands execute; the
 * service uses {@link startEmbeddedStore}, which gives it a thread of its own.
 * @throws StoreLockedError when another store holds the directory
 */
export async function serveStore(
  dataDir: string,
  openFile: (path: string) => StoreFile = (path) => new DurableFile(path),
): Promise<StoreServer> {
  const files = storeFiles(dataDir)
  prepareDataDirectory(files)
  const engine = openEngine(files, openFile)
  try {
    return await listen(files, engine)
  } catch (error) {
    engine.close()
    throw error
  }
}

function openEngine(files: StoreFiles, openFile: (path: string) => StoreFile): StoreEngine {
  try {
    const engine = new StoreEngine(openFile(files.database))
    // Left by a store that was killed; no client may take it for ours.
    rmSync(files.lock, { force: true })
    return engine
  } catch (error) {
    if (error instanceof FileBusyError) throw new StoreLockedError(files.directory, readLockNote(files))
    throw error
  }
}

async function listen(files: StoreFiles, engine: StoreEngine): Promise<StoreServer> {
  const { socketPath, temporary } = chooseSocketPath(files)
  const service = new DurableCommandService(engine)
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    new Connection(socket, service, connections)
  })
  server.maxConnections = MAX_CONNECTIONS
  await listening(server, socketPath)
  if (process.platform !== 'win32') chmodSync(socketPath, 0o600)
  writeLockNote(files, { pid: process.pid, socketPath })
  const stopHousekeeping = startHousekeeping(engine, service)
  return {
    socketPath,
    engine,
    async close() {
      stopHousekeeping()
      const closed = new Promise((done) => server.close(done))
      service.flush()
      for (const socket of sockets) socket.destroySoon()
      // A client that does not read its last reply must not keep the store from closing.
      const impatience = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_MS)
      await closed
      clearTimeout(impatience)
      // The note goes while the lock is still held, or it could be the next holder's.
      rmSync(files.lock, { force: true })
      if (temporary !== undefined) rmSync(dirname(socketPath), { recursive: true, force: true })
      engine.close()
    },
  }
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen({ path, backlog: 511 }, () => {
      server.off('error', fail)
      done()
    })
  })
}

/**
 * Runs commands on the engine and holds every reply back until what it reports is on disk. While one
 * commit runs, further commands queue in the sockets; they execute together next and share one fsync.
 * Reads that ran after an uncommitted write wait as well: no client sees a state that a crash could undo.
 */
class DurableCommandService implements CommandService {
  readonly #engine: StoreEngine
  #waiting: ((failure: Uint8Array | undefined) => void)[] = []
  #scheduled = false

  constructor(engine: StoreEngine) {
    this.#engine = engine
  }

  run(body: BsonDocument, connectionId: number): Uint8Array {
    try {
      return runCommand(body, { engine: this.#engine, connectionId, now: new Date() })
    } catch (error) {
      // A defect of ours: what it left half done in memory is not trusted.
      if (!(error instanceof MongoError)) this.#engine.recover()
      return this.failure(error)
    }
  }

  failure(error: unknown): Uint8Array {
    return encodeBson(errorReply(error))
  }

  afterCommit(callback: (failure: Uint8Array | undefined) => void): void {
    if (!this.#engine.dirty && this.#waiting.length === 0) {
      callback(undefined)
      return
    }
    this.#waiting.push(callback)
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  /** Commits now and releases the replies that waited for it. */
  flush(): void {
    this.#scheduled = false
    const waiting = this.#waiting
    this.#waiting = []
    let failure: Uint8Array | undefined
    try {
      this.#engine.commit()
    } catch (error) {
      failure = this.failure(storageError(error))
    }
    for (const release of waiting) release(failure)
  }
}

function storageError(error: unknown): MongoError {
  const message = error instanceof Error ? error.message : String(error)
  const full = error instanceof Error && 'code' in error && error.code === 'SQLITE_FULL'
  return new MongoError(full ? 14031 : 1, `the write could not be made durable: ${message}`)
}

/** Every command the store has. Anything else is 59 CommandNotFound. */
const commandTable: ReadonlyMap<string, Command> = new Map([
  ['hello', hello],
  ['isMaster', legacyHello],
  ['ismaster', legacyHello],
  ['ping', ping],
  ['saslStart', authenticate],
  ['authenticate', authenticate],
  ['buildInfo', buildInfo],
  ['buildinfo', buildInfo],
  ['create', create],
  ['createIndexes', createIndexes],
  ['listIndexes', listIndexes],
  ['dropIndexes', dropIndexes],
  ['listCollections', listCollections],
  ['listDatabases', listDatabases],
  ['insert', insert],
  ['find', find],
  ['getMore', getMore],
  ['killCursors', killCursors],
  ['aggregate', aggregate],
  ['count', count],
  ['distinct', distinct],
  ['update', update],
  ['delete', remove],
  ['findAndModify', findAndModify],
  ['findandmodify', findAndModify],
  ['drop', drop],
  ['dropDatabase', dropDatabase],
  ['endSessions', endSessions],
])

/** What a command runs on. */
interface CommandContext {
  engine: StoreEngine
  connectionId: number
  now: Date
}

/**
 * Looks the command up in the closed table, checks every field name, runs it and encodes its reply.
 * @throws MongoError 59 for a command that is not in the table, else what the command throws
 */
function runCommand(body: BsonDocument, context: CommandContext): Uint8Array {
  const [name] = body.keys()
  const command = name === undefined ? undefined : commandTable.get(name)
  if (name === undefined || command === undefined) {
    throw new MongoError(
      59,
      `no such command: '${name ?? ''}' (its README lists those of the embedded store)`,
    )
  }
  const generic = readGenericArguments(name, body)
  const reply = command.run({
    ...context,
    fields: new CommandFields(
      name,
      body,
      command.fields === 'any' ? new Set(body.keys()) : command.fields,
      true,
    ),
    database: generic.database,
    session: generic.session,
    deadline: generic.maxTimeMs === undefined ? undefined : performance.now() + generic.maxTimeMs,
  })
  return reply instanceof CursorReply ? reply.encode() : encodeBson(reply.set('ok', new Double(1)))
}

/** The reply of a failed command: `ok: 0`, message, code, code name and any extra fields. */
function errorReply(error: unknown): BsonDocument {
  return new Map<string, BsonValue>([['ok', new Double(0)], ...errorFields(error)])
}

function errorFields(error: unknown): [string, BsonValue][] {
  if (!(error instanceof MongoError)) {
    // A defect of ours. Its text may quote data, so the client learns only its kind.
    const kind = error instanceof Error ? error.name : typeof error
    return errorFields(new MongoError(1, `internal error (${kind})`))
  }
  return [
    ['errmsg', error.message],
    ['code', new Int32(error.code)],
    ['codeName', error.codeName],
    ...error.extra,
  ]
}

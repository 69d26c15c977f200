import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StoreFileError } from './engine/file-errors.ts'
import { leftOf } from './engine/open-file.ts'

/** `sockaddr_un` ends at 104 bytes on macOS and 108 on Linux. */
const MAX_SOCKET_PATH = 100

/** What a running store says about itself in its lock file. */
export interface LockNote {
  pid: number
  socketPath: string
}

/** Paths inside a data directory. */
export interface StoreFiles {
  directory: string
  database: string
  lock: string
}

export function storeFiles(dataDir: string): StoreFiles {
  const directory = resolve(dataDir)
  return { directory, database: join(directory, 'store.db'), lock: join(directory, 'store.lock') }
}

/**
 * Makes the data directory (0700) and an empty database file (0600; SQLite gives its log files the same mode) unless one was
 * lost there, and makes both entries durable.
 */
export function prepareDataDirectory(files: StoreFiles): void {
  makeDirectory(files.directory)
  // An existing file is not even opened: closing any descriptor of a file drops all POSIX locks this process holds on it, and
  // another store of this process may be holding one.
  const isNew = !existsSync(files.database) && leftOf(files.database).length === 0
  if (isNew) closeSync(openSync(files.database, 'a', 0o600))
  if (process.platform === 'win32') return
  const directory = openSync(files.directory, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/**
 * Refuses a directory whose store belongs to another user: root could open it, but what root makes there would keep out the
 * user whose store it is.
 * @throws StoreFileError
 */
export function refuseForeign(files: StoreFiles): void {
  const uid = statSync(files.database, { throwIfNoEntry: false })?.uid
  if (uid === undefined || process.geteuid === undefined || uid === process.geteuid()) return
  const message = `${files.directory} belongs to user ${uid}; run this as that user, or give it to yours`
  throw new StoreFileError(message, { trouble: 'disk' })
}

/**
 * Refuses a store file that is a symbolic link: SQLite keeps the log beside the file that the link leads to, while the seal and a
 * copy look for it in the data directory.
 * @throws StoreFileError
 */
export function refuseLink({ directory, database }: StoreFiles): void {
  if (!lstatSync(database, { throwIfNoEntry: false })?.isSymbolicLink()) return
  throw new StoreFileError(
    `${database} is a symbolic link, so its log would be kept elsewhere. Stop the store, move the file it leads to, with the -wal file beside that if there is one, to its place; to keep the store elsewhere, link the folder ${directory} instead. Nothing was changed`,
  )
}

/**
 * Makes a directory (0700) and its missing ancestors. Node's own `recursive` retries for ever where the file system reports
 * ENOENT for a directory that cannot be made, as /proc does.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process made it first.
    if (!existsSync(path)) throw error
  }
}

/**
 * Chooses where to listen. The socket lies in a directory of mode 0700, so no other user can reach it even
 * in the moment before its own mode is set. On Windows it is a named pipe with an unguessable name.
 * `temporary` is a directory to remove when the store closes. Call this only while holding the lock.
 */
export function chooseSocketPath(files: StoreFiles): { socketPath: string; temporary?: string } {
  if (process.platform === 'win32') {
    // The driver takes an address for a socket path only if it ends in ".sock".
    return { socketPath: `\\\\.\\pipe\\embedded-mongo-${randomBytes(16).toString('hex')}.sock` }
  }
  const usual = join(files.directory, 'run')
  // The driver decodes the percent signs of an address once more than they were encoded.
  const fits = Buffer.byteLength(join(usual, 'store.sock')) <= MAX_SOCKET_PATH && !usual.includes('%')
  const directory = fits ? usual : shortDirectory(files)
  const socketPath = join(directory, 'store.sock')
  makePrivate(directory)
  rmSync(socketPath, { force: true })
  return fits ? { socketPath } : { socketPath, temporary: directory }
}

/** Returns the same directory at each start, so that clients with the socket's address find the store again. */
function shortDirectory({ directory }: StoreFiles): string {
  const whose = `${process.geteuid?.()} ${directory}`
  const name = createHash('sha256').update(whose).digest('hex').slice(0, 16)
  return join(shortTemporaryDirectory(), `embedded-mongo-${name}`)
}

/**
 * Makes a directory private. An existing one may be open to others or belong to another user, who could replace our socket with
 * their own.
 * @throws StoreFileError when it is not a directory of this user
 */
export function makePrivate(directory: string): void {
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) makeDirectory(directory)
  const { mode, uid } = lstatSync(directory)
  const isDirectory = (mode & constants.S_IFMT) === constants.S_IFDIR
  if (!isDirectory || uid !== process.geteuid?.())
    throw new StoreFileError(`${directory} is not a directory of the user that runs the store; remove it`)
  if ((mode & 0o077) !== 0) chmodSync(directory, 0o700)
}

function shortTemporaryDirectory(): string {
  const usual = tmpdir()
  return Buffer.byteLength(usual) + 40 <= MAX_SOCKET_PATH ? usual : '/tmp'
}

/** The directory itself, by whatever path it is reached. */
function identityOf(directory: string): string {
  const { dev, ino } = statSync(directory, { bigint: true })
  return `${dev}:${ino}`
}

/** Replaces the lock note atomically: readers do not hold the lock. */
export function writeLockNote(files: StoreFiles, note: LockNote): void {
  const draft = `${files.lock}.${note.pid}`
  try {
    writeFileSync(draft, `${JSON.stringify({ ...note, directory: files.directory })}\n`, { mode: 0o600 })
    renameSync(draft, files.lock)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/**
 * Returns the note of the store that holds, or held, this directory; undefined if there is none or it is unreadable. In a copy of
 * the directory the note is about the original, and in one that was moved it is about what has its old place now: what was meant
 * for this directory would be done there.
 */
export function readLockNote(files: StoreFiles): LockNote | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(files.lock, 'utf8'))
    if (typeof note !== 'object' || note === null || !('pid' in note) || !('socketPath' in note))
      return undefined
    if (!('directory' in note) || typeof note.directory !== 'string') return undefined
    if (identityOf(note.directory) !== identityOf(files.directory)) return undefined
    const { pid, socketPath } = note
    return typeof pid === 'number' && typeof socketPath === 'string' ? { pid, socketPath } : undefined
  } catch {
    return undefined
  }
}

/** The connection string of a store's socket, for the driver, mongoose and Agenda alike. */
export function socketUri(socketPath: string): string {
  return `mongodb://${encodeURIComponent(socketPath)}/?directConnection=true&retryWrites=false`
}

/**
 * Checks whether only the user of the store can have made this socket. The note of a killed store may name a directory of /tmp
 * that has gone since, and that any user could make again to listen there.
 */
function isOwn(socketPath: string, { database }: StoreFiles): boolean {
  if (process.platform === 'win32') return true
  const folder = lstatSync(dirname(socketPath), { throwIfNoEntry: false })
  if (!folder?.isDirectory() || (folder.mode & 0o077) !== 0) return false
  return [process.geteuid?.(), statSync(database, { throwIfNoEntry: false })?.uid].includes(folder.uid)
}

/** Checks whether something accepts connections on this path. A pid can be reused; an open socket cannot lie. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ path: socketPath })
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}

/** Another live process (or another store in this one) holds the data directory. */
export class StoreLockedError extends Error {
  readonly code = 'STORE_LOCKED'
  /** The holder, or 0 if it has not said yet. */
  readonly pid: number
  readonly socketPath?: string

  constructor(directory: string, holder?: { pid: number; socketPath: string }) {
    super(
      holder === undefined
        ? `the data directory ${directory} is held by another store`
        : `the data directory ${directory} is held by the store of process ${holder.pid}: stop it, or use another directory`,
    )
    this.name = 'StoreLockedError'
    this.pid = holder?.pid ?? 0
    if (holder !== undefined) this.socketPath = holder.socketPath
  }
}

/** The store that another process serves from a data directory. */
interface RunningStore {
  uri: string
  pid: number
}

/**
 * Finds the store that is serving `dataDir` now, so that a second process (the CLI beside a running
 * service) can connect to it; undefined if none answers, or what answers may be another user's.
 */
export async function findRunningStore(dataDir: string): Promise<RunningStore | undefined> {
  const files = storeFiles(dataDir)
  const note = readLockNote(files)
  if (note === undefined || !isOwn(note.socketPath, files) || !(await answers(note.socketPath)))
    return undefined
  return { uri: socketUri(note.socketPath), pid: note.pid }
}

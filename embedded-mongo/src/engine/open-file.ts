import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import Database from 'libsql'
import { explainFileError, StoreDamageError, StoreFileError, StoreGoneError } from './file-errors.ts'
import { FORMAT, formatOf, refuseUnreadable, single, TABLES } from './file-format.ts'
import { bytesOf, logOf, Seal, sealOf } from './seal.ts'

const PAGE_BYTES = 8192
/** KiB of pages held in memory. */
const PAGE_CACHE = 32 * 1024
/** The write-ahead log is truncated to this many bytes after it has grown. */
const LOG_BYTES = 32 * 1024 * 1024

/** The open file, checked against its seal. */
export class OpenFile {
  readonly db: Database.Database
  /** Whether there was no seal that vouches for the content: the file was restored, or found damaged. */
  readonly unsealed: boolean
  readonly #path: string
  readonly #identity: string
  readonly #seal: Seal
  readonly #unlock: () => void

  /**
   * Opens SQLite in WAL mode with `synchronous=FULL`, so a commit that returned has been fsynced, and with
   * `locking_mode=EXCLUSIVE`, so the kernel keeps every other process out until this one is gone.
   * @throws FileBusyError when the file is held; StoreFileError, with the path and what to do, when it cannot be used
   */
  constructor(path: string) {
    const undo: (() => void)[] = []
    this.#path = path
    try {
      this.#unlock = lock(path)
      undo.push(this.#unlock)
      if (bytesOf(path) === 0) refuseIfLost(path)
      else refuseUnreadable(path)
      const known = Seal.check(path, PAGE_BYTES)
      undo.push(() => known?.close())
      this.unsealed = known === undefined && bytesOf(path) > 0
      const made = this.unsealed ? Seal.make(path, PAGE_BYTES) : undefined
      undo.push(() => made?.break())
      this.db = new Database(path)
      undo.push(() => closeUnused(this.db, known))
      const format = prepare(this.db, path)
      if (this.unsealed) checkWhole(this.db, path)
      this.#seal = known ?? made ?? Seal.make(path, PAGE_BYTES)
      this.#identity = identityOf(path)
      if (format < FORMAT) this.#upgrade()
    } catch (error) {
      for (const step of undo.reverse()) step()
      throw explainFileError(error, path)
    }
  }

  /**
   * Calls `run`, which makes the changes durable, then updates the seal and checkpoints if that is due.
   * @throws StoreGoneError when the changes are in a file that has lost its name, and so would end with this process
   */
  commit(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#seal.doubt()
      throw error
    }
    if (this.#seal.note()) this.#checkpoint()
    const gone = this.gone()
    if (gone !== undefined) throw gone
  }

  /** Returns an error if the names of the file and its log no longer lead to what is open here. */
  gone(): StoreGoneError | undefined {
    return identityOf(this.#path) === this.#identity ? undefined : new StoreGoneError(this.#path)
  }

  /** Removes the seal, which only says that the pages are as the store wrote them. */
  distrust(): void {
    rmSync(sealOf(this.#path), { force: true })
  }

  /**
   * Checkpoints the log into the file and releases the lock. libsql keeps the file open until its statements are
   * garbage-collected, so the lock is released by leaving exclusive mode, not by closing.
   */
  close(): void {
    const gone = this.gone()
    const sealed = this.#checkpoint()
    try {
      this.#seal.closeLog()
      if (gone !== undefined) throw gone
      this.db.pragma('journal_mode = DELETE')
      this.db.pragma('locking_mode = NORMAL')
      this.db.prepare('SELECT count(*) FROM sqlite_schema').raw().all()
    } finally {
      this.db.close()
      if (!sealed) this.#seal.dropIfFolded()
      this.#seal.close()
      this.#unlock()
    }
  }

  /** Notes the format in the file itself, not only in its log, so that an older build refuses it before reading anything else. */
  #upgrade(): void {
    this.commit(() => void this.db.pragma(`user_version = ${FORMAT}`))
    this.#checkpoint()
  }

  /**
   * Runs a checkpoint: not left to SQLite, since the seal must be updated first. If it fails, the log keeps the pages for the
   * next try.
   */
  #checkpoint(): boolean {
    try {
      return fold(this.db, this.#seal)
    } catch {
      this.#seal.doubt()
      return false
    }
  }
}

/** @returns whether the file now has every page of the log, and the seal has noted that */
function fold(db: Database.Database, seal: Seal): boolean {
  seal.prepare()
  const [row]: unknown[] = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').raw().all()
  const [busy, log, folded] = Array.isArray(row) ? row : []
  if (busy !== 0 || log !== folded) return false
  seal.folded()
  return true
}

/** Closes a file that turned out to be unusable; a crash may have left it a log. */
function closeUnused(db: Database.Database, seal: Seal | undefined): void {
  let sealed = false
  try {
    if (db.inTransaction) db.exec('ROLLBACK')
    sealed = seal === undefined || fold(db, seal)
  } catch {
    // The disk is full, or another process holds the file: the pages stay in the log.
  }
  db.close()
  if (!sealed) seal?.dropIfFolded()
}

/**
 * Locks a guard file beside the store file. To take its own lock SQLite reads the log, and on closing it removes the log even of
 * a damaged file, so the guard keeps other processes out while the file is checked.
 */
export function lock(path: string): () => void {
  const name = path.replace(/\.db$/, '.guard')
  // An existing file is not even opened: closing any descriptor of a file releases all locks this process holds on it.
  if (!existsSync(name)) closeSync(openSync(name, 'a', 0o600))
  const guard = new Database(name)
  guard.pragma('journal_mode = MEMORY')
  guard.exec('BEGIN EXCLUSIVE')
  return () => {
    guard.exec('ROLLBACK')
    guard.close()
  }
}

/** Returns the name of a copy until it is complete. */
export function partOf(path: string): string {
  return `${path}-part`
}

/** Lists what a store file that is gone left behind. */
export function leftOf(path: string): string[] {
  return [sealOf(path), logOf(path), partOf(path)].filter((name) => existsSync(name))
}

/** Refuses to create a store file where there was one before. */
function refuseIfLost(path: string): void {
  const left = leftOf(path)
  if (left.length === 0) return
  const names = left.join(' and ')
  throw new StoreFileError(
    `the store file ${path} is missing, and ${names} shows that there was one: put the whole folder of a backup in its place, or delete ${names} to start without what it held`,
  )
}

/** Identifies the files that now have the names of the store and its log; a missing one has no identity. */
function identityOf(path: string): string {
  return [path, logOf(path)]
    .map((name) => {
      const file = statSync(name, { throwIfNoEntry: false })
      return file === undefined ? 'none' : `${file.dev}:${file.ino}`
    })
    .join()
}

/** @returns the file's format */
function prepare(db: Database.Database, path: string): number {
  // Before anything is written: SQLite would fold a log left by a crash into the file without the seal's knowledge.
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('locking_mode = EXCLUSIVE')
  const isNew = bytesOf(path) === 0
  const format = isNew ? FORMAT : formatOf(db, path)
  if (isNew) {
    // Stored requests of 2 to 3 KB fill pages of 4 KB badly.
    db.pragma(`page_size = ${PAGE_BYTES}`)
    db.pragma('auto_vacuum = INCREMENTAL')
  }
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  // On macOS a plain fsync stops at the drive's cache.
  db.pragma('fullfsync = ON')
  db.pragma('cell_size_check = ON')
  // What is deleted or overwritten is zeroed: an erased text must not stay in the gaps of pages, nor in free ones.
  db.pragma('secure_delete = ON')
  db.pragma(`cache_size = ${-PAGE_CACHE}`)
  db.pragma(`journal_size_limit = ${LOG_BYTES}`)
  db.exec('BEGIN IMMEDIATE')
  if (single(db, 'SELECT count(*) FROM sqlite_schema') === 0) db.exec(TABLES)
  db.exec('COMMIT')
  return format
}

/** Checks a file by SQLite's own rules, which are all there is without a seal. */
function checkWhole(db: Database.Database, path: string): void {
  const verdict = single(db, 'PRAGMA integrity_check(1)')
  if (verdict !== 'ok') throw new StoreDamageError(path, String(verdict))
}

import Database from 'libsql'

/** Marks the file as ours ("CSgn"), so that a foreign SQLite file is refused instead of altered. */
const APPLICATION_ID = 0x4353676e
/** Of the tables, of the keys in `entries` (`key-encoding.ts`) and of the checksums. */
const FORMAT = 2

/** A key is no prefix of another, so entries with equal keys are told apart, and ordered, by the document's age. */
const TABLES = `
  CREATE TABLE collections(id INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, definition BLOB NOT NULL);
  CREATE TABLE sizes(collection INTEGER PRIMARY KEY, sum INTEGER NOT NULL, documents INTEGER NOT NULL);
  CREATE TABLE documents(id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, body BLOB NOT NULL);
  CREATE TABLE entries(tree INTEGER, key BLOB, number INTEGER, sum INTEGER NOT NULL, PRIMARY KEY(tree, key, number)) WITHOUT ROWID;
  CREATE TABLE garbage(kind TEXT, id INTEGER, PRIMARY KEY(kind, id)) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};`

/** KiB of pages held in memory. */
const PAGE_CACHE = 32 * 1024
/** The write-ahead log is cut back to this after it has grown. */
const LOG_BYTES = 16 * 1024 * 1024

/** Another process (or another store in this one) holds the file. */
export class FileBusyError extends Error {}

/** The file is not what the store wrote. Never answered with what it seems to hold. */
export class StoreDamageError extends Error {
  constructor(path: string, what: string, options?: ErrorOptions) {
    super(
      `the store file ${path} is damaged: ${what}. Stop the store, keep a copy of the file and restore a backup`,
      options,
    )
    this.name = 'StoreDamageError'
  }
}

/**
 * Opens SQLite in WAL mode with `synchronous=FULL`, so a commit that returned has been fsynced, and with
 * `locking_mode=EXCLUSIVE`, so the kernel keeps every other process out until this one is gone.
 * @throws FileBusyError when the file is held; Error, with the path and what to do, when it cannot be used
 */
export function openFile(path: string): Database.Database {
  let db: Database.Database | undefined
  try {
    db = new Database(path)
    // These two take effect when the file is made: stored requests of 2 to 3 KB fill pages of 4 KB badly.
    db.pragma('page_size = 8192')
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    // On macOS a plain fsync stops at the drive's cache.
    db.pragma('fullfsync = ON')
    db.pragma('cell_size_check = ON')
    db.pragma(`cache_size = ${-PAGE_CACHE}`)
    db.pragma(`journal_size_limit = ${LOG_BYTES}`)
    db.exec('BEGIN IMMEDIATE')
    prepareFormat(db, path)
    db.exec('COMMIT')
    return db
  } catch (error) {
    db?.close()
    throw explained(error, path)
  }
}

function prepareFormat(db: Database.Database, path: string): void {
  const tables = single(db, 'SELECT count(*) FROM sqlite_schema')
  const application = single(db, 'PRAGMA application_id')
  const format = single(db, 'PRAGMA user_version')
  if (tables === 0) db.exec(TABLES)
  else if (application !== APPLICATION_ID) {
    throw new Error(`${path} is a SQLite database, but not an embedded store; nothing in it was changed`)
  } else if (format !== FORMAT) {
    throw new Error(
      `the store file ${path} has format ${String(format)}; this version reads format ${FORMAT} only. Nothing in it was changed: open it with the version that wrote it`,
    )
  }
}

function single(db: Database.Database, query: string): unknown {
  const [row]: unknown[] = db.prepare(query).raw().all()
  return Array.isArray(row) ? row[0] : undefined
}

/** One sentence for a person: which file, what is wrong with it, what to do. */
function explained(error: unknown, path: string): unknown {
  const code = codeOf(error)
  const cause = error instanceof Error ? error.message : String(error)
  if (code.startsWith('SQLITE_BUSY')) return new FileBusyError(`${path} is in use`, { cause: error })
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return new StoreDamageError(path, cause, { cause: error })
  }
  if (code === 'SQLITE_FULL') {
    return new Error(`the disk of the store file ${path} is full (${cause}): make room and start again`, {
      cause: error,
    })
  }
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')) {
    return new Error(
      `the store file ${path} cannot be written (${cause}): the user that runs the store needs to own it and its directory, on a disk that is not read-only`,
      { cause: error },
    )
  }
  if (code.startsWith('SQLITE_')) {
    return new Error(`the store file ${path} cannot be used (${cause})`, { cause: error })
  }
  return error
}

/** The code of an error of the file or the operating system, else ''. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

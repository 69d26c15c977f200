import Database from 'libsql'
import { explainFileError, StoreFileError } from './file-errors.ts'

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
    throw explainFileError(error, path)
  }
}

function prepareFormat(db: Database.Database, path: string): void {
  const tables = single(db, 'SELECT count(*) FROM sqlite_schema')
  const application = single(db, 'PRAGMA application_id')
  const format = single(db, 'PRAGMA user_version')
  if (tables === 0) db.exec(TABLES)
  else if (application !== APPLICATION_ID) {
    throw new StoreFileError(
      `${path} is a SQLite database, but not an embedded store; nothing in it was changed`,
    )
  } else if (format !== FORMAT) {
    throw new StoreFileError(
      `the store file ${path} has format ${String(format)}; this version reads format ${FORMAT} only. Nothing in it was changed: open it with the version that wrote it`,
    )
  }
}

function single(db: Database.Database, query: string): unknown {
  const [row]: unknown[] = db.prepare(query).raw().all()
  return Array.isArray(row) ? row[0] : undefined
}

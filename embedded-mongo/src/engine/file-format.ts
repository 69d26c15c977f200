import { closeSync, openSync, readSync } from 'node:fs'
import type Database from 'libsql'
import { StoreDamageError, StoreFileError } from './file-errors.ts'
import { bytesOf, logOf, Seal } from './seal.ts'

/** Marks the file as ours ("CSgn"), so that a foreign SQLite file is refused instead of altered. */
const APPLICATION_ID = 0x4353676e
/**
 * The version of the tables, of the keys in `entries` (`key-encoding.ts`), of the checksums and of the seal. It is raised by one
 * with everything that an older build would not know and so would violate by writing.
 */
export const FORMAT = 3
/** The oldest format that is read, and turned into {@link FORMAT} at the start: 2 lacks only the duty to keep a seal. */
const OLDEST_FORMAT = 2

/** No key is a prefix of another, so entries with equal keys are told apart, and ordered, by `number`: the document's age. */
export const TABLES = `
  CREATE TABLE collections(id INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, definition BLOB NOT NULL);
  CREATE TABLE sizes(collection INTEGER PRIMARY KEY, sum INTEGER NOT NULL, documents INTEGER NOT NULL);
  CREATE TABLE documents(id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, body BLOB NOT NULL);
  CREATE TABLE entries(tree INTEGER, key BLOB, number INTEGER, sum INTEGER NOT NULL, PRIMARY KEY(tree, key, number)) WITHOUT ROWID;
  CREATE TABLE garbage(kind TEXT, id INTEGER, PRIMARY KEY(kind, id)) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};`

/**
 * Refuses what SQLite must not even open: a log beside a file that was closed and so has none, since SQLite would write the log
 * of another file into it, and a file whose seal has a form of later versions, which would pass for a damaged one.
 */
export function refuseUnreadable(path: string): void {
  if (bytesOf(logOf(path)) > 0 && !isOpenInLog(path))
    throw new StoreDamageError(path, `${logOf(path)} beside it is the log of another file`)
  if (Seal.isLater(path)) refuseFormat(path, headOf(path).readInt32BE(60))
}

/** Checks whether the file was not closed, and so has a log of its own. */
export function isOpenInLog(path: string): boolean {
  return headOf(path)[18] === 2
}

function headOf(path: string): Buffer {
  const head = Buffer.alloc(64)
  const file = openSync(path, 'r')
  readSync(file, head, 0, head.length, 0)
  closeSync(file)
  return head
}

/** Returns the format of an open file. @throws StoreFileError unless this version can read and write it */
export function formatOf(db: Database.Database, path: string): number {
  if (single(db, 'SELECT count(*) FROM sqlite_schema') === 0) return FORMAT
  if (single(db, 'PRAGMA application_id') !== APPLICATION_ID) {
    throw new StoreFileError(
      `${path} is a SQLite database, but not an embedded store; nothing in it was changed`,
    )
  }
  const format = Number(single(db, 'PRAGMA user_version'))
  refuseFormat(path, format)
  return format
}

/** @throws StoreFileError for a format of a newer version, or of one too old */
function refuseFormat(path: string, format: number): void {
  const known = `this version reads the formats ${OLDEST_FORMAT} to ${FORMAT}. Nothing in it was changed`
  if (format > FORMAT) {
    throw new StoreFileError(
      `the store file ${path} was written by a newer version: it has format ${format}, and ${known}. Start the newer version again, or put a backup from before the upgrade in its place`,
    )
  }
  if (format < OLDEST_FORMAT) {
    throw new StoreFileError(
      `the store file ${path} has format ${format}, and ${known}: open it with the version that wrote it`,
    )
  }
}

/** Returns the one value that a query has. */
export function single(db: Database.Database, query: string): unknown {
  const [row]: unknown[] = db.prepare(query).raw().all()
  return Array.isArray(row) ? row[0] : undefined
}

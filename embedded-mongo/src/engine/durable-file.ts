import Database from 'libsql'

/** Marks the file as ours ("CSgn"), so that a foreign SQLite file is refused instead of altered. */
const APPLICATION_ID = 0x4353676e
const FORMAT = 1

/** A document as stored: `seq` is unique in the whole file and grows with insertion order. */
export interface StoredDocument {
  seq: number
  collection: number
  body: Uint8Array
}

/** A collection as stored: `definition` is the BSON of its index specifications. */
export interface StoredCollection {
  id: number
  namespace: string
  definition: Uint8Array
}

/** Row changes of the commands executed since the last commit, the last word per row only. */
export class Journal {
  readonly documents = new Map<number, StoredDocument | undefined>()
  readonly collections = new Map<number, StoredCollection>()
  readonly dropped = new Set<number>()

  get empty(): boolean {
    return this.documents.size === 0 && this.collections.size === 0 && this.dropped.size === 0
  }

  putDocument(document: StoredDocument): void {
    this.documents.set(document.seq, document)
  }

  deleteDocument(seq: number): void {
    this.documents.set(seq, undefined)
  }

  putCollection(collection: StoredCollection): void {
    this.collections.set(collection.id, collection)
  }

  dropCollection(id: number): void {
    this.collections.delete(id)
    for (const [seq, document] of this.documents) {
      if (document?.collection === id) this.documents.delete(seq)
    }
    this.dropped.add(id)
  }

  clear(): void {
    this.documents.clear()
    this.collections.clear()
    this.dropped.clear()
  }
}

/** Another process (or another store in this one) holds the file. */
export class FileBusyError extends Error {}

/**
 * The one file on disk: SQLite in WAL mode with `synchronous=FULL`, so a commit that returned has been
 * fsynced, and `locking_mode=EXCLUSIVE`, so the kernel keeps every other process out until this one is gone.
 */
export class DurableFile {
  readonly #db: Database.Database
  readonly #putDocument: Database.Statement
  readonly #deleteDocument: Database.Statement
  readonly #putCollection: Database.Statement
  readonly #dropCollection: Database.Statement
  readonly #dropDocuments: Database.Statement

  /** @throws FileBusyError when the file is held; Error when it is not a store of this format. */
  constructor(path: string) {
    this.#db = openExclusively(path)
    this.#putDocument = this.#db.prepare(
      'INSERT OR REPLACE INTO documents(seq, collection, body) VALUES (?, ?, ?)',
    )
    this.#deleteDocument = this.#db.prepare('DELETE FROM documents WHERE seq = ?')
    this.#putCollection = this.#db.prepare(
      'INSERT OR REPLACE INTO collections(id, namespace, definition) VALUES (?, ?, ?)',
    )
    this.#dropCollection = this.#db.prepare('DELETE FROM collections WHERE id = ?')
    this.#dropDocuments = this.#db.prepare('DELETE FROM documents WHERE collection = ?')
  }

  collections(): StoredCollection[] {
    const rows: unknown[] = this.#db
      .prepare('SELECT id, namespace, definition FROM collections ORDER BY id')
      .raw()
      .all()
    return rows.map((row) => {
      const [id, namespace, definition] = columns(row)
      if (typeof id !== 'number' || typeof namespace !== 'string' || !(definition instanceof Uint8Array)) {
        throw new Error('the store file holds a collection row of the wrong type')
      }
      return { id, namespace, definition }
    })
  }

  /** All documents, oldest first. */
  *documents(): Generator<StoredDocument> {
    const rows: Iterable<unknown> = this.#db
      .prepare('SELECT seq, collection, body FROM documents ORDER BY seq')
      .raw()
      .iterate()
    for (const row of rows) {
      const [seq, collection, body] = columns(row)
      if (typeof seq !== 'number' || typeof collection !== 'number' || !(body instanceof Uint8Array)) {
        throw new Error('the store file holds a document row of the wrong type')
      }
      yield { seq, collection, body }
    }
  }

  /** Writes the journal in one transaction; when this returns the change survives a power cut. */
  commit(journal: Journal): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      for (const id of journal.dropped) {
        this.#dropCollection.run(id)
        this.#dropDocuments.run(id)
      }
      for (const { id, namespace, definition } of journal.collections.values()) {
        this.#putCollection.run(id, namespace, definition)
      }
      for (const [seq, document] of journal.documents) {
        if (document === undefined) this.#deleteDocument.run(seq)
        else this.#putDocument.run(seq, document.collection, document.body)
      }
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  /**
   * Folds the write-ahead log into the file and lets go of the lock. libsql keeps the file open until its
   * statements are garbage, so the lock is given up by leaving exclusive mode, not by closing.
   */
  close(): void {
    try {
      this.#db.pragma('journal_mode = DELETE')
      this.#db.pragma('locking_mode = NORMAL')
      single(this.#db, 'SELECT count(*) FROM sqlite_schema')
    } finally {
      this.#db.close()
    }
  }
}

function columns(row: unknown): unknown[] {
  return Array.isArray(row) ? row : []
}

function openExclusively(path: string): Database.Database {
  const db = new Database(path)
  try {
    // Takes effect when the file is made: stored requests of 2 to 3 KB fill pages of 4 KB badly.
    db.pragma('page_size = 8192')
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    // On macOS a plain fsync stops at the drive's cache.
    db.pragma('fullfsync = ON')
    db.exec('BEGIN IMMEDIATE')
    prepareFormat(db)
    db.exec('COMMIT')
    return db
  } catch (error) {
    db.close()
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) {
      throw new FileBusyError(`${path} is in use`, { cause: error })
    }
    throw error
  }
}

function single(db: Database.Database, query: string): unknown {
  return columns(db.prepare(query).raw().all()[0])[0]
}

function prepareFormat(db: Database.Database): void {
  const tables = single(db, 'SELECT count(*) FROM sqlite_schema')
  const application = single(db, 'PRAGMA application_id')
  const format = single(db, 'PRAGMA user_version')
  if (tables === 0) {
    db.exec(`
      CREATE TABLE collections(id INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE, definition BLOB NOT NULL);
      CREATE TABLE documents(seq INTEGER PRIMARY KEY, collection INTEGER NOT NULL, body BLOB NOT NULL);
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${FORMAT};`)
  } else if (application !== APPLICATION_ID) {
    throw new Error('the file is a SQLite database, but not an embedded store')
  } else if (format !== FORMAT) {
    throw new Error(`the store file has format ${String(format)}; this version reads format ${FORMAT}`)
  }
}

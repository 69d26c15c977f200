import { crc32 } from 'node:zlib'
import type Database from 'libsql'
import type { KeyRange } from '../semantics/index-ranges.ts'
import type { FileAsItIs } from './file-as-it-is.ts'
import { StoreDamageError, type StoreGoneError } from './file-errors.ts'
import { OpenFile } from './open-file.ts'

/** The range of document numbers in one collection. Row ids stay whole numbers in a double for 32 767 collections. */
export const NUMBERS = 2 ** 38
/** @see NUMBERS */
export const MAX_COLLECTIONS = 2 ** 15 - 1

/** Returns the row id of a document. */
export function rowOf(collection: number, number: number): number {
  return collection * NUMBERS + number
}

/**
 * A collection as stored: `definition` is the BSON of its indexes, `documents` the number of its documents; `sound` if both match
 * their checksums.
 */
export interface StoredCollection {
  id: number
  namespace: string
  definition: Uint8Array
  documents: number
  sound: boolean
}

/** One key of an index and the number of the document that has it. */
export interface Entry {
  key: Buffer
  number: number
}

/** A document as stored in the file; `sound` if it matches its checksum. */
export interface StoredDocument {
  number: number
  body: Uint8Array
  sound: boolean
}

/** Rows of a dropped collection or index that are still in the file. */
export type Garbage = { kind: 'documents' | 'entries'; id: number }

/**
 * The one file on disk. Documents and the entries of all indexes lie in SQLite's B-trees; reading a document or a range of
 * entries checks their checksums. Changes go into one transaction, which {@link commit} makes durable.
 *
 * libsql does not reset a statement between `all` and a later `get`, which then answers for the earlier parameters, so each
 * statement is only ever used in one of the two ways.
 */
export class DurableFile {
  readonly path: string
  readonly opened: OpenFile | FileAsItIs
  readonly #statements: ReturnType<typeof prepareAll>
  readonly #insertions: Database.Statement[] = []
  #changing = false
  #closed = false

  /** @throws what {@link OpenFile} throws */
  constructor(path: string, opened: OpenFile | FileAsItIs = new OpenFile(path)) {
    this.path = path
    this.opened = opened
    try {
      this.#statements = prepareAll(opened.db)
    } catch (error) {
      opened.close()
      throw error
    }
  }

  /** Whether there are changes that are not durable yet. */
  get changing(): boolean {
    return this.#changing
  }

  /** Makes all changes durable: when this returns they survive a power cut. @throws StoreGoneError */
  commit(): void {
    this.opened.commit(() => this.#statements.commit.run([]))
    this.#changing = false
  }

  /** Returns an error if the file was removed or replaced while it is open. */
  readonly gone = (): StoreGoneError | undefined => this.opened.gone()

  /** Undoes all changes since the last commit. */
  rollback(): void {
    this.#changing = false
    // After a full disk SQLite has rolled back already.
    if (this.opened.db.inTransaction) this.opened.db.exec('ROLLBACK')
  }

  collections(): StoredCollection[] {
    return this.#statements.collections.all([]).map((row) => {
      const [id, namespace, sum, bytes, documents, sizeSum] = columns(row)
      const definition = bytes instanceof Uint8Array ? bytes : new Uint8Array()
      const stored = {
        id: Number(id),
        namespace: String(namespace),
        definition,
        documents: Number(documents),
      }
      const defined = sum === definitionSum(stored.id, stored.namespace, definition)
      return { ...stored, sound: defined && sizeSum === sumOf(SIZE, stored.id, stored.documents) }
    })
  }

  putCollection(id: number, namespace: string, definition: Uint8Array): void {
    this.#begin()
    this.#statements.putCollection.run([id, namespace, definitionSum(id, namespace, definition), definition])
  }

  putSize(id: number, documents: number): void {
    this.#begin()
    this.#statements.putSize.run([id, sumOf(SIZE, id, documents), documents])
  }

  removeCollection(id: number): void {
    this.#begin()
    this.#statements.removeCollection.run([id])
    this.#statements.removeSize.run([id])
  }

  /** Returns the highest document number of a collection, or 0 if it has no documents. */
  lastNumber(collection: number): number {
    const start = collection * NUMBERS
    const [id] = columns(this.#statements.lastDocument.get([start, start + NUMBERS]))
    return typeof id === 'number' ? id - start : 0
  }

  document(collection: number, number: number): StoredDocument | undefined {
    const id = rowOf(collection, number)
    const row = this.#statements.document.get([id])
    return row === undefined ? undefined : storedDocument(id, columns(row))
  }

  /** Returns up to `limit` documents of a collection with numbers above `after`, in ascending order. */
  documents(collection: number, after: number, limit: number): StoredDocument[] {
    const start = collection * NUMBERS
    const rows = this.#statements.documents.all([start + after, start + NUMBERS, limit])
    return rows.map((row) => {
      const [id, ...rest] = columns(row)
      if (typeof id !== 'number') throw this.damage('a document has no number')
      return storedDocument(id, rest)
    })
  }

  insertDocument(collection: number, number: number, body: Uint8Array): void {
    if (number >= NUMBERS) throw new Error('the collection has run out of document numbers')
    this.#begin()
    const id = rowOf(collection, number)
    this.#statements.insertDocument.run([id, bodySum(id, body), body])
  }

  updateDocument(collection: number, number: number, body: Uint8Array): void {
    this.#begin()
    const id = rowOf(collection, number)
    this.#expectOne(this.#statements.updateDocument.run([bodySum(id, body), body, id]))
  }

  deleteDocument(collection: number, number: number): void {
    this.#begin()
    this.#expectOne(this.#statements.deleteDocument.run([rowOf(collection, number)]))
  }

  /**
   * Returns entries of a range in key order or backwards, starting behind `after`, the last entry read before.
   * @throws StoreDamageError when an entry does not match its checksum or is out of order
   */
  entries(
    tree: number,
    range: KeyRange,
    { after, limit, backwards }: { after: Entry | undefined; limit: number; backwards: boolean },
  ): Entry[] {
    const from = bytesOf(range.from)
    const to = bytesOf(range.to)
    const row = backwards
      ? this.#statements.entriesBackwards.get([tree, from, after?.key ?? to, after?.number ?? -1, limit])
      : this.#statements.entries.get([tree, after?.key ?? from, after?.number ?? -1, to, limit])
    const [list] = columns(row)
    if (typeof list !== 'string') return []
    const entries = list.split(' ').map((text) => this.#checkedEntry(tree, text))
    let before = after
    for (const entry of entries) {
      const turn = before === undefined ? 0 : Buffer.compare(entry.key, before.key)
      if (backwards ? turn > 0 : turn < 0) throw this.damage('an index is out of order')
      before = entry
    }
    return entries
  }

  /** Returns the number of the first document with exactly this key. */
  holder(tree: number, key: string): number | undefined {
    const [number] = columns(this.#statements.holder.get([tree, bytesOf(key)]))
    return typeof number === 'number' ? number : undefined
  }

  /** Counts the entries of a range, but no further than `limit`. */
  count(tree: number, range: KeyRange, limit: number): number {
    const [count] = columns(this.#statements.count.get([tree, bytesOf(range.from), bytesOf(range.to), limit]))
    return typeof count === 'number' ? count : 0
  }

  /** Inserts those entries of one document that do not exist yet. */
  insertEntries(number: number, entries: readonly { tree: number; key: string }[]): void {
    for (let at = 0; at < entries.length; at += ENTRIES_AT_ONCE) {
      const chunk = entries.slice(at, at + ENTRIES_AT_ONCE)
      this.#begin()
      const rows = chunk.flatMap(({ tree, key }) => {
        const bytes = bytesOf(key)
        return [tree, bytes, number, sumOf(bytes, tree, number)]
      })
      this.#insertion(chunk.length).run(rows)
    }
  }

  hasEntry(tree: number, key: string, number: number): boolean {
    return this.#statements.hasEntry.get([tree, bytesOf(key), number]) !== undefined
  }

  /** Deletes an entry if it exists: an index that is being built may not have it yet. */
  deleteEntry(tree: number, key: string, number: number): void {
    this.#begin()
    this.#statements.deleteEntry.run([tree, bytesOf(key), number])
  }

  /** Returns what dropped collections and indexes left, the first `limit` of it. */
  garbage(limit = -1): Garbage[] {
    return this.#statements.garbage.all([limit]).flatMap((row) => {
      const [kind, id] = columns(row)
      return (kind === 'documents' || kind === 'entries') && typeof id === 'number' ? [{ kind, id }] : []
    })
  }

  /** Marks the rows of a dropped collection or index as garbage; {@link purge} removes them. */
  addGarbage({ kind, id }: Garbage): void {
    this.#begin()
    this.#statements.addGarbage.run([kind, id])
  }

  /** Removes up to `limit` rows of garbage, and the mark after the last of them. */
  purge({ kind, id }: Garbage, limit: number): void {
    this.#begin()
    const { changes } =
      kind === 'entries'
        ? this.#statements.purgeEntries.run([id, limit])
        : this.#statements.purgeDocuments.run([id * NUMBERS, (id + 1) * NUMBERS, limit])
    if (changes < limit) this.#statements.removeGarbage.run([kind, id])
  }

  /** Tests whether the file can be written. SQLite skips a write that changes nothing, so some checksums are inverted twice. */
  probe(): void {
    this.#begin()
    this.#statements.probe.run([PROBE_DOCUMENTS])
    this.#statements.probe.run([PROBE_DOCUMENTS])
  }

  /** Counts the pages of the file, and how many of them are free. */
  pages(): { all: number; free: number } {
    const count = (name: string) =>
      Number(columns(this.opened.db.prepare(`PRAGMA ${name}`).raw().all()[0])[0])
    return { all: count('page_count'), free: count('freelist_count') }
  }

  /** Gives up to `count` free pages back to the file system. */
  shrink(count: number): void {
    this.#begin()
    this.opened.db.exec(`PRAGMA incremental_vacuum(${count})`)
  }

  /**
   * Rolls back uncommitted changes and lets other processes in. Runs only once: libsql aborts the whole process when a closed
   * file is used.
   */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    try {
      this.rollback()
    } finally {
      this.opened.close()
    }
  }

  damage(what: string): StoreDamageError {
    return new StoreDamageError(this.path, what)
  }

  /** Returns the statement that inserts `count` entries: one statement per entry costs twice as much. */
  #insertion(count: number): Database.Statement {
    const rows = Array.from({ length: count }, () => '(?, ?, ?, ?)').join()
    this.#insertions[count] ??= this.opened.db.prepare(`INSERT OR IGNORE INTO entries VALUES ${rows}`)
    return this.#insertions[count]
  }

  #begin(): void {
    if (this.#changing) return
    this.#statements.begin.run([])
    this.#changing = true
  }

  #expectOne({ changes }: { changes: number }): void {
    if (changes !== 1) throw this.damage('an index does not agree with its documents')
  }

  /** Parses one entry of a list that the statements return. @throws StoreDamageError */
  #checkedEntry(tree: number, text: string): Entry {
    const [hex = '', number, sum] = text.split(':')
    const entry = { key: Buffer.from(hex, 'hex'), number: Number(number) }
    if (Number(sum) === sumOf(entry.key, tree, entry.number)) return entry
    throw this.damage('an entry of an index does not match its checksum')
  }
}

/** The most entries that one statement inserts. */
const ENTRIES_AT_ONCE = 32

/** Documents that a probe writes, as many as a few concurrent requests: one free page on the disk is not enough. */
const PROBE_DOCUMENTS = 64

/** Returns all entries as one text: a row for each would cost several times as much as the entry. */
const ENTRY = "group_concat(hex(key) || ':' || number || ':' || sum, ' ')"

function prepareAll(db: Database.Database) {
  const write = (query: string) => db.prepare(query)
  const read = (query: string) => db.prepare(query).raw()
  return {
    begin: write('BEGIN IMMEDIATE'),
    commit: write('COMMIT'),
    collections: read(
      `SELECT c.id, c.namespace, c.sum, c.definition, s.documents, s.sum
       FROM collections c LEFT JOIN sizes s ON s.collection = c.id ORDER BY c.id`,
    ),
    putCollection: write('INSERT OR REPLACE INTO collections VALUES (?, ?, ?, ?)'),
    putSize: write('INSERT OR REPLACE INTO sizes VALUES (?, ?, ?)'),
    removeCollection: write('DELETE FROM collections WHERE id = ?'),
    removeSize: write('DELETE FROM sizes WHERE collection = ?'),
    lastDocument: read('SELECT id FROM documents WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1'),
    document: read('SELECT sum, body FROM documents WHERE id = ?'),
    documents: read('SELECT id, sum, body FROM documents WHERE id > ? AND id < ? ORDER BY id LIMIT ?'),
    insertDocument: write('INSERT INTO documents VALUES (?, ?, ?)'),
    updateDocument: write('UPDATE documents SET sum = ?, body = ? WHERE id = ?'),
    deleteDocument: write('DELETE FROM documents WHERE id = ?'),
    entries: read(
      `SELECT ${ENTRY} FROM (SELECT key, number, sum FROM entries
       WHERE tree = ? AND (key, number) > (?, ?) AND key < ? ORDER BY key, number LIMIT ?)`,
    ),
    entriesBackwards: read(
      `SELECT ${ENTRY} FROM (SELECT key, number, sum FROM entries
       WHERE tree = ? AND key >= ? AND (key, number) < (?, ?) ORDER BY key DESC, number DESC LIMIT ?)`,
    ),
    holder: read('SELECT number FROM entries WHERE tree = ? AND key = ? LIMIT 1'),
    count: read(
      'SELECT count(*) FROM (SELECT 1 FROM entries WHERE tree = ? AND key >= ? AND key < ? LIMIT ?)',
    ),
    hasEntry: read('SELECT 1 FROM entries WHERE tree = ? AND key = ? AND number = ?'),
    deleteEntry: write('DELETE FROM entries WHERE tree = ? AND key = ? AND number = ?'),
    probe: write('UPDATE documents SET sum = ~sum WHERE id IN (SELECT id FROM documents LIMIT ?)'),
    garbage: read('SELECT kind, id FROM garbage ORDER BY kind, id LIMIT ?'),
    addGarbage: write('INSERT OR IGNORE INTO garbage VALUES (?, ?)'),
    removeGarbage: write('DELETE FROM garbage WHERE kind = ? AND id = ?'),
    purgeEntries: write(
      'DELETE FROM entries WHERE (tree, key, number) IN (SELECT tree, key, number FROM entries WHERE tree = ? LIMIT ?)',
    ),
    purgeDocuments: write(
      'DELETE FROM documents WHERE id IN (SELECT id FROM documents WHERE id >= ? AND id < ? LIMIT ?)',
    ),
  }
}

function storedDocument(id: number, [sum, bytes]: unknown[]): StoredDocument {
  const body = bytes instanceof Uint8Array ? bytes : new Uint8Array()
  return { number: id % NUMBERS, body, sound: bytes === body && sum === bodySum(id, body) }
}

function columns(row: unknown): unknown[] {
  return Array.isArray(row) ? row : []
}

/** Converts a key, a string with one byte per character (`key-encoding.ts`). */
function bytesOf(key: string): Buffer {
  return Buffer.from(key, 'latin1')
}

const SIZE = Buffer.from('size')

/** Returns the CRC-32 of the bytes, seeded with the two numbers that identify their owner. */
function sumOf(bytes: Uint8Array, owner: number, number: number): number {
  const seed = Math.imul(owner, 0x9e3779b1) ^ Math.imul(Math.floor(number / 2 ** 32), 0x85ebca6b) ^ number
  return crc32(bytes, seed >>> 0)
}

function bodySum(id: number, body: Uint8Array): number {
  return sumOf(body, Math.floor(id / NUMBERS), id % NUMBERS)
}

function definitionSum(id: number, namespace: string, definition: Uint8Array): number {
  return sumOf(definition, id, crc32(namespace))
}

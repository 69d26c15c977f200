import { decodeFields } from '../bson-reader.ts'
import { describeValue } from '../semantics/describe-value.ts'
import { EVERY_KEY } from '../semantics/index-ranges.ts'
import { decodeIndexes } from './collection.ts'
import type { CollectionIndex } from './collection-index.ts'
import {
  DurableFile,
  type Entry,
  NUMBERS,
  type StoredCollection,
  type StoredDocument,
} from './durable-file.ts'
import { copyWithFirstPage, FileAsItIs } from './file-as-it-is.ts'
import { explainFileError, StoreDamageError, StoreFileError } from './file-errors.ts'
import { sealOf } from './seal.ts'

/** A part of a store file: the BSON of a document that is whole, or damage, which concerns `documents` of them. */
export type Held = { namespace: string } & ({ body: Uint8Array } | { damaged: string; documents: number })

const CHUNK = 256

/**
 * Yields every document that is whole, and everything that is not: documents that do not match their checksum or cannot be found,
 * indexes, the description of a collection. Pages that SQLite cannot read are passed over.
 * @throws StoreDamageError when not even the list of collections can be read
 */
function* readAll(file: DurableFile): Generator<Held> {
  for (const stored of file.collections()) {
    const { namespace, definition, sound } = stored
    const indexes = sound ? decodeIndexes(definition) : []
    if (!sound) yield { namespace, damaged: 'its description', documents: 0 }
    yield* readDocuments(file, stored, indexes[0])
    for (const index of indexes)
      if (!isWhole(file, index, stored))
        yield { namespace, damaged: `index ${index.spec.name}`, documents: 0 }
  }
}

/**
 * Yields what {@link readAll} does of a file that no store can serve any more; changes nothing in it. If the page that lists the
 * tables is damaged, it reads a copy with a new one.
 * @throws FileBusyError, StoreFileError
 */
export function* readAsItIs(path: string): Generator<Held> {
  let begun = false
  try {
    for (const held of readOpened(path)) {
      begun = true
      yield held
    }
  } catch (error) {
    const damage = explainFileError(error, path)
    const mended = begun || !(damage instanceof StoreFileError) ? undefined : copyWithFirstPage(path)
    if (mended === undefined) throw damage
    try {
      yield* readOpened(mended.copy)
    } catch (again) {
      throw explainFileError(again, path)
    } finally {
      mended.remove()
    }
  }
}

function* readOpened(path: string): Generator<Held> {
  const file = new DurableFile(path, new FileAsItIs(path))
  try {
    yield* readAll(file)
  } finally {
    file.close()
  }
}

function* readDocuments(
  file: DurableFile,
  { id, namespace, documents, sound }: StoredCollection,
  byId: CollectionIndex | undefined,
): Generator<Held> {
  let seen = 0
  let after = 0
  for (let limit = CHUNK; ; ) {
    const chunk = unlessUnreadable(file, () => file.documents(id, after, limit))
    if (chunk === undefined && limit === 1) {
      const next = nextReadable(file, id, after)
      if (next === undefined) break
      after = next
      limit = CHUNK
    } else if (chunk === undefined) limit = 1
    else {
      for (const document of chunk) {
        seen += 1
        after = document.number
        if (document.sound) yield { namespace, body: document.body }
        else yield { namespace, damaged: `document ${nameOf(file, document, byId)}`, documents: 1 }
      }
      if (chunk.length < limit) break
    }
  }
  const lost = sound ? documents - seen : 0
  if (lost > 0) yield { namespace, damaged: 'documents that cannot be read', documents: lost }
  if (lost < 0) yield { namespace, damaged: `its number of documents, ${documents}`, documents: 0 }
}

/** Names a damaged document: by its `_id` if the index confirms that, else by its number. */
function nameOf(
  file: DurableFile,
  { number, body }: StoredDocument,
  byId: CollectionIndex | undefined,
): string {
  try {
    const id = decodeFields(body, new Set(['_id']))
    const [key = ''] = byId?.keysOf(id) ?? []
    if (file.holder(byId?.tree ?? 0, key) === number) return describeValue(id.get('_id') ?? null)
  } catch {
    // The bytes are not a valid document, as far as they were read.
  }
  return `number ${number}`
}

/** Returns a number behind `after` from which on documents can be read: those of one page are next to each other. */
function nextReadable(file: DurableFile, collection: number, after: number): number | undefined {
  const isReadable = (from: number) =>
    unlessUnreadable(file, () => file.documents(collection, from, 1)) !== undefined
  let step = 1
  while (after + step < NUMBERS && !isReadable(after + step)) step *= 2
  if (after + step >= NUMBERS) return undefined
  let [bad, good] = [after + Math.floor(step / 2), after + step]
  while (good - bad > 1) {
    const middle = Math.floor((bad + good) / 2)
    if (isReadable(middle)) good = middle
    else bad = middle
  }
  return good
}

/** Checks whether an index has only entries that match their checksums, in their order, and one for each document if it must. */
function isWhole(
  file: DurableFile,
  { tree, spec, multikey, building }: CollectionIndex,
  { documents }: StoredCollection,
): boolean {
  const count = unlessUnreadable(file, () => {
    let [seen, after]: [number, Entry | undefined] = [0, undefined]
    for (;;) {
      const chunk: Entry[] = file.entries(tree, EVERY_KEY, { after, limit: CHUNK, backwards: false })
      seen += chunk.length
      after = chunk.at(-1)
      if (chunk.length < CHUNK) return seen
    }
  })
  const some = spec.sparse || spec.partial !== undefined || multikey || building
  return count !== undefined && (some || count === documents)
}

/** Returns what `read` returns, or undefined if the file does not let it. */
function unlessUnreadable<T>({ path }: DurableFile, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (explainFileError(error, path) instanceof StoreFileError) return undefined
    throw error
  }
}

/** Milliseconds to count what is damaged; clients of a store that runs wait for that. */
const COUNT_MS = { opening: 30_000, running: 2_000 }

/**
 * Opens a file that is whole. All of it is read if no seal vouches for its content, or if `thorough` is set.
 * @throws StoreDamageError that names the damaged collections, and what {@link DurableFile} throws
 */
export function openWhole(path: string, thorough = false): DurableFile {
  const file = openSealed(path)
  if (!file.opened.unsealed && !thorough) return file
  try {
    const damage = describe(file)
    if (damage !== undefined) throw file.damage(damage)
    return file
  } catch (error) {
    file.opened.distrust()
    file.close()
    throw error
  }
}

function openSealed(path: string): DurableFile {
  try {
    return new DurableFile(path)
  } catch (error) {
    if (!(error instanceof StoreDamageError)) throw error
    throw countAsItIs(error, path)
  }
}

function countAsItIs(error: StoreDamageError, path: string): StoreDamageError {
  try {
    const file = new DurableFile(path, new FileAsItIs(path))
    try {
      const whole = `Every document in it is whole. Stop the store, keep a copy of its directory, and put a backup in its place, or delete ${sealOf(path)} to go on with these documents`
      return countDamage(error, file, COUNT_MS.opening, error.unlikeSeal ? whole : undefined)
    } finally {
      file.close()
    }
  } catch {
    return error
  }
}

/**
 * Returns the error with the damaged collections and the number of their damaged documents.
 * @param advice if nothing of what is in the file is damaged
 */
export function countDamage(
  error: StoreDamageError,
  file: DurableFile,
  mostMs = COUNT_MS.running,
  advice?: string,
): StoreDamageError {
  try {
    const damage = describe(file, mostMs)
    if (damage !== undefined) return new StoreDamageError(file.path, `${error.what} (${damage})`)
    return advice === undefined ? error : new StoreDamageError(file.path, error.what, { advice })
  } catch {
    // What cannot be counted is damaged all the same.
    return error
  }
}

/**
 * Tells everything that is damaged in a file: which collections, how many documents. Undefined if nothing is.
 * @param mostMs for which to look; after that it says "at least"
 */
function describe(file: DurableFile, mostMs = Number.POSITIVE_INFINITY): string | undefined {
  const until = performance.now() + mostMs
  const counts = new Map<string, { damaged: number; all: number }>()
  const others: string[] = []
  let cut = false
  for (const held of readAll(file)) {
    const count = counts.get(held.namespace) ?? { damaged: 0, all: 0 }
    counts.set(held.namespace, count)
    const documents = 'body' in held ? 1 : held.documents
    count.all += documents
    if ('damaged' in held) {
      count.damaged += documents
      if (documents === 0) others.push(`${held.damaged} of ${held.namespace}`)
    }
    cut = performance.now() > until
    if (cut) break
  }
  const rows = [...counts].filter(([, { damaged }]) => damaged > 0)
  const parts = [
    ...rows.map(([name, { damaged, all }]) => `${damaged} of ${all} documents of ${name}`),
    ...others,
  ]
  if (parts.length > 0) return `${cut ? 'at least ' : ''}${parts.join(', ')}`
  return undefined
}

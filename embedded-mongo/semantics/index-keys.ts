import type { CompiledFilter } from './filter.ts'
import { encodeValue, invertKey } from './key-encoding.ts'
import { keyTuples } from './key-tuples.ts'
import { mongoError } from './mongo-error.ts'
import type { BsonDocument, BsonValue } from './values.ts'

/** What `indexKeys` needs of an index; `parseIndexSpec` makes a whole one. */
export interface IndexShape {
  /** The key pattern, for example `{a: 1, b: -1}`; a negative number means descending. */
  readonly fields: readonly { readonly path: string; readonly direction: 1 | -1 }[]
  readonly sparse: boolean
  readonly partial: CompiledFilter | undefined
}

/** One key a document has in an index: the encoding, and the values it stands for (for E11000). */
export interface IndexEntry {
  readonly key: string
  readonly values: readonly BsonValue[]
}

/** Partial filters cannot read the clock, so the time they are run with does not matter. */
const anyTime = new Date(0)

/**
 * The keys of a document in an index, each once. Keys are strings of bytes (`key-encoding.ts`) whose order is the
 * index's order, directions included. No keys: the document is not in the sparse or partial index.
 * Throws MongoError 171 for parallel arrays.
 */
export function indexEntries(document: BsonDocument, shape: IndexShape): IndexEntry[] {
  if (shape.partial && !shape.partial.matches(document, anyTime)) return []
  const paths = shape.fields.map(({ path }) => path.split('.'))
  const names = shape.fields.map(({ path }) => `[${path}]`).join(' ')
  const tuples = keyTuples(document, paths, () =>
    mongoError('CannotIndexParallelArrays', `cannot index parallel arrays ${names}`),
  )
  const entries = new Map<string, IndexEntry>()
  for (const tuple of tuples) {
    if (shape.sparse && tuple.every((value) => value === undefined)) continue
    const values = tuple.map((value) => value ?? null)
    const key = encodeBound(values, shape)
    if (!entries.has(key)) entries.set(key, { key, values })
  }
  return [...entries.values()]
}

/** The encoded keys alone; see `indexEntries`. */
export function indexKeys(document: BsonDocument, shape: IndexShape): string[] {
  return indexEntries(document, shape).map(({ key }) => key)
}

/**
 * Encodes values for the first fields of an index: a whole key, or a prefix P of keys. The keys that begin
 * with P are those from P up to, not including, P + '\xff'.
 */
export function encodeBound(values: readonly BsonValue[], shape: Pick<IndexShape, 'fields'>): string {
  return values.map((value, index) => encodeField(value, shape.fields[index]?.direction ?? 1)).join('')
}

/** Encodes one field of a key in the field's direction. */
export function encodeField(value: BsonValue, direction: 1 | -1): string {
  const key = encodeValue(value)
  return direction === 1 ? key : invertKey(key)
}

import { EVERY_KEY } from '../semantics/index-ranges.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { Collection } from './collection.ts'
import type { CollectionIndex } from './collection-index.ts'
import type { Entry } from './durable-file.ts'
import type { Plan } from './planner.ts'
import type { StoreRecord } from './store-record.ts'

/** Index entries read at once: at first, and when a plan turns out to read more. */
const FIRST_ENTRIES = 32
const MORE_ENTRIES = 256

/**
 * Yields the documents of a plan, each once, in the order of the index or of their age, and undefined when the slice is over.
 * Documents may change during that pause; reading goes on from its place with their new state.
 * @throws StoreDamageError when a document is damaged or disagrees with the index; MongoError 175 when the collection or index
 * was dropped
 */
export function* readRecords(
  collection: Collection,
  plan: Plan,
  first = FIRST_ENTRIES,
): Generator<StoreRecord | undefined> {
  const { index } = plan
  if (index === undefined) yield* collection.records(first)
  else {
    for (const entry of readEntries(collection, index, plan, first))
      yield entry && recordOf(collection, index, entry, plan.exact)
  }
}

/** Yields only the index entries of a plan; otherwise like {@link readRecords}. */
export function* readEntries(
  collection: Collection,
  index: CollectionIndex,
  { ranges, backwards }: Pick<Plan, 'ranges' | 'backwards'>,
  first = FIRST_ENTRIES,
): Generator<Entry | undefined> {
  const { file, slice } = collection.host
  // A document has several keys in a multikey index, and gets other keys when it changes between two slices.
  const seen = new Set<number>()
  const began = collection.version
  for (const range of backwards ? ranges.toReversed() : ranges) {
    let after: Entry | undefined
    let limit = Math.min(first, MORE_ENTRIES)
    for (let more = true; more; limit = MORE_ENTRIES) {
      const { version } = collection
      const chunk = file.entries(index.tree, range, { after, limit, backwards })
      more = chunk.length === limit
      for (const entry of chunk) {
        if (collection.version !== version) {
          more = true
          break
        }
        after = entry
        if (seen.has(entry.number)) continue
        seen.add(entry.number)
        yield entry
        if (!slice.over) continue
        yield* collection.pause()
        if (!collection.indexes.includes(index))
          throw new MongoError(175, `index ${index.spec.name} of ${collection.namespace} was dropped`)
      }
    }
  }
  const whole = ranges[0] === EVERY_KEY && !index.spec.sparse && index.spec.partial === undefined
  if (!whole || collection.version !== began || seen.size === collection.size) return
  throw file.damage(
    `index ${index.spec.name} of ${collection.namespace} has ${seen.size} documents and should have ${collection.size}`,
  )
}

/** Reads the document of an entry. An entry without a document, or whose document lacks its key, would make an answer wrong. */
function recordOf(collection: Collection, index: CollectionIndex, entry: Entry, exact: boolean): StoreRecord {
  const record = collection.read(entry.number)
  const { namespace, host } = collection
  const name = `${index.spec.name} of ${namespace}`
  if (record === undefined) throw host.file.damage(`index ${name} has an entry without a document`)
  // An exact plan need not look into the document: the entry has a checksum of its own.
  if (exact || record.soundFor === index) return record
  if (index.keysOf(record.fields(index.roots)).includes(entry.key.toString('latin1'))) {
    record.soundFor = index
    return record
  }
  throw host.file.damage(`index ${name} has an entry its document does not bear out`)
}

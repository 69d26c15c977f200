import type { Collection } from '../engine/collection.ts'
import type { CollectionIndex } from '../engine/collection-index.ts'
import { choosePlan, type Plan } from '../engine/planner.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import { compileCollation } from '../semantics/collation.ts'
import { type CompiledFilter, compileFilter } from '../semantics/filter.ts'
import { conjuncts } from '../semantics/filter-tree.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { parseSort, sortDocuments } from '../semantics/sort.ts'
import { type BsonDocument, isDocument } from '../semantics/values.ts'
import type { CommandFields } from './command-fields.ts'

/** Records looked at between two looks at the clock. */
const DEADLINE_STRIDE = 256

/** Which records a command means, and in which order. */
export interface Selection {
  filter: CompiledFilter
  sort: BsonDocument | undefined
  skip: number
  /** 0 for all. */
  limit: number
  hint: CollectionIndex | undefined
}

/**
 * Reads filter, sort, collation and hint of a command; everything is validated even if the collection
 * does not exist.
 * @throws MongoError
 */
export function readSelection(
  fields: CommandFields,
  filterField: string,
  collection: Collection | undefined,
  window: { skip?: number; limit?: number },
): Selection {
  const collation = compileCollation(fields.document('collation'))
  const filter = compileFilter(fields.document(filterField) ?? new Map(), { collation })
  const sort = fields.document('sort')
  if (sort !== undefined) parseSort(sort)
  return {
    filter,
    sort: sort === undefined || sort.size === 0 ? undefined : sort,
    skip: window.skip ?? 0,
    limit: window.limit ?? 0,
    hint: readHint(fields, collection),
  }
}

/** The records a selection means, in its order. Read it to the end before changing the collection. */
export function* selectRecords(
  collection: Collection,
  selection: Selection,
  { now, deadline }: { now: Date; deadline: number | undefined },
): Generator<StoreRecord> {
  const plan = choosePlan(collection, selection)
  const matching = filtered(plan, selection.filter, now, deadline)
  const ordered =
    selection.sort === undefined || plan.sorted
      ? matching
      : sorted(matching, selection.sort, selection.filter)
  let position = 0
  for (const record of ordered) {
    position += 1
    if (position <= selection.skip) continue
    yield record
    if (selection.limit > 0 && position === selection.skip + selection.limit) return
  }
}

function sorted(records: Iterable<StoreRecord>, sort: BsonDocument, filter: CompiledFilter): StoreRecord[] {
  const owners = new Map<BsonDocument, StoreRecord>()
  for (const record of records) owners.set(record.peek(), record)
  const documents = sortDocuments(owners.keys(), sort, { collation: filter.collation })
  return documents.flatMap((document) => owners.get(document) ?? [])
}

function* filtered(
  plan: Plan,
  filter: CompiledFilter,
  now: Date,
  deadline: number | undefined,
): Generator<StoreRecord> {
  const matchesAll = conjuncts(filter.tree).length === 0
  let seen = 0
  for (const record of plan.records) {
    seen += 1
    if (deadline !== undefined && seen % DEADLINE_STRIDE === 0 && performance.now() > deadline) {
      throw new MongoError(50, 'operation exceeded time limit')
    }
    // A walk over everything would push out of memory what is really in use.
    if (matchesAll || filter.matches(plan.index === undefined ? record.peek() : record.document, now))
      yield record
  }
}

function readHint(fields: CommandFields, collection: Collection | undefined): CollectionIndex | undefined {
  const hint = fields.has('hint') ? fields.raw('hint') : undefined
  if (hint === undefined) return undefined
  if (typeof hint !== 'string' && !isDocument(hint)) {
    throw new MongoError(9, 'Hint must be a string or an object')
  }
  if (collection === undefined) return undefined
  const index = collection.indexes.find((candidate) => candidate.isNamedBy(hint))
  if (index === undefined) {
    throw new MongoError(2, 'error processing query: hint provided does not correspond to an existing index')
  }
  return index
}

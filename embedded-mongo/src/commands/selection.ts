import type { Collection } from '../engine/collection.ts'
import type { CollectionIndex } from '../engine/collection-index.ts'
import { choosePlan, type Plan, type Question } from '../engine/planner.ts'
import { readEntries, readRecords } from '../engine/read-plan.ts'
import { finish, type Steps, sortInSlices } from '../engine/slice.ts'
import { StoreRecord } from '../engine/store-record.ts'
import { checkCollation } from '../semantics/compare.ts'
import { compileFilter } from '../semantics/filter.ts'
import { pathsOf } from '../semantics/filter-tree.ts'
import type { KeyTuple } from '../semantics/index-keys.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { compileSortKeys, parseSort } from '../semantics/sort.ts'
import { type BsonDocument, isDocument } from '../semantics/values.ts'
import type { CommandCall } from './command.ts'
import type { CommandFields } from './command-fields.ts'
import { rootOf, rootsOf } from './filter-fields.ts'

/** The records a command selects, and their order. A `limit` of 0 means no limit. */
export interface Selection extends Question {
  /** The top-level fields that the filter reads. */
  fields: ReadonlySet<string>
}

/** The part of a call that a search needs. */
type Call = Pick<CommandCall, 'command' | 'engine' | 'now' | 'deadline'>

/**
 * Reads sort, collation and hint of a command, besides its filter; everything is validated even if the
 * collection does not exist.
 * @throws MongoError
 */
export function readSelection(
  fields: CommandFields,
  asked: BsonDocument = new Map(),
  collection: Collection | undefined,
  window: { skip?: number; limit?: number } = {},
): Selection {
  checkCollation(fields.raw('collation'))
  const filter = compileFilter(asked)
  const sort = parseSort(fields.document('sort') ?? new Map())
  return {
    filter,
    fields: rootsOf(asked),
    sort: sort.length === 0 ? undefined : sort,
    skip: window.skip ?? 0,
    limit: window.limit ?? 0,
    hint: readHint(fields, collection),
  }
}

/**
 * Yields the selected records in their order, and undefined when the slice is over. What others write during
 * that pause is seen or not, but no document is yielded twice.
 */
export function* selectRecords(
  collection: Collection,
  selection: Selection,
  call: Call,
): Generator<StoreRecord | undefined> {
  const plan = choosePlan(collection, selection)
  const matching = matches(collection, plan, selection, call)
  const ordered = plan.sorted ? matching : sorted(collection, matching, selection)
  const end = selection.limit > 0 ? selection.skip + selection.limit : Number.POSITIVE_INFINITY
  let position = 0
  for (const record of ordered) {
    if (record === undefined) yield undefined
    else {
      position += 1
      if (position > selection.skip) yield record
      if (position >= end) return
    }
  }
}

/** Counts the selected records, without reading the documents where an index suffices. */
export function* countRecords(collection: Collection, selection: Selection, call: Call): Steps<number> {
  const plan = choosePlan(collection, { ...selection, sort: undefined })
  const end = selection.limit > 0 ? selection.skip + selection.limit : Number.POSITIVE_INFINITY
  let found = 0
  if (plan.exact && plan.index === undefined) found = collection.size
  else {
    const { index } = plan
    const counted =
      plan.exact && index !== undefined
        ? watched(readEntries(collection, index, plan), plan, collection, selection, call)
        : matches(collection, plan, { ...selection, limit: 0 }, call)
    for (const one of counted) {
      if (one === undefined) yield
      else found += 1
      if (found >= end) break
    }
  }
  return Math.max(0, Math.min(found, end) - selection.skip)
}

/**
 * Returns the first selected record as it is now: it was not written between finding and returning it. `none`
 * asks for the same certainty that no record matches.
 */
export function* selectOne(
  collection: Collection,
  selection: Selection,
  call: Call,
  { none }: { none: boolean },
): Steps<StoreRecord | undefined> {
  for (let tries = 1; tries < MAX_TRIES; tries += 1) {
    const { version } = collection
    const record = yield* firstOf(selectRecords(collection, { ...selection, limit: 1 }, call))
    if (collection.version === version) return record
    if (record === undefined ? !none : isCurrent(collection, record)) return record
  }
  // Others have written in every pause, so search without pauses.
  return finish(firstOf(selectRecords(collection, { ...selection, limit: 1 }, call)))
}

/** Returns the numbers of all selected records; `none` as for `selectOne`. */
export function* selectNumbers(
  collection: Collection,
  selection: Selection,
  call: Call,
  { none }: { none: boolean },
): Steps<number[]> {
  for (let tries = 1; tries < MAX_TRIES; tries += 1) {
    const { version } = collection
    const found = yield* numbersOf(selectRecords(collection, selection, call))
    if (!none || found.length > 0 || collection.version === version) return found
  }
  return finish(numbersOf(selectRecords(collection, selection, call)))
}

function* numbersOf(records: Iterable<StoreRecord | undefined>): Steps<number[]> {
  const found: number[] = []
  for (const record of records) {
    if (record === undefined) yield
    else found.push(record.number)
  }
  return found
}

/** From this try on, a statement runs without pauses, since others wrote during all earlier tries. */
const MAX_TRIES = 4

function isCurrent(collection: Collection, record: StoreRecord): boolean {
  const current = collection.read(record.number)
  return current !== undefined && Buffer.compare(current.body, record.body) === 0
}

function* firstOf(records: Iterable<StoreRecord | undefined>): Steps<StoreRecord | undefined> {
  for (const record of records) {
    if (record !== undefined) return record
    yield
  }
  return undefined
}

function* matches(
  collection: Collection,
  plan: Plan,
  selection: Selection,
  call: Call,
): Generator<StoreRecord | undefined> {
  const { filter, fields } = selection
  const first =
    plan.exact && plan.sorted && selection.limit > 0 ? selection.skip + selection.limit : undefined
  const read = readRecords(collection, plan, first)
  for (const record of watched(read, plan, collection, selection, call)) {
    if (record === undefined || plan.exact || filter.matches(record.fields(fields), call.now)) yield record
  }
}

/** Enforces the command's time limit, and reports to `onPlan` how much was read. */
function* watched<T>(
  read: Iterable<T | undefined>,
  plan: Plan,
  collection: Collection,
  { filter }: Selection,
  call: Call,
): Generator<T | undefined> {
  const { engine, command } = call
  let examined = 0
  try {
    for (const one of read) {
      if (one !== undefined) examined += 1
      if (
        call.deadline !== undefined &&
        examined % DEADLINE_STRIDE === 0 &&
        performance.now() > call.deadline
      ) {
        throw new MongoError(50, 'operation exceeded time limit')
      }
      yield one
    }
  } finally {
    engine.onPlan?.({
      command,
      namespace: collection.namespace,
      fields: pathsOf(filter.tree),
      index: plan.index?.spec.name,
      examined,
      size: collection.size,
    })
  }
}

/** Records read between two looks at the clock. */
const DEADLINE_STRIDE = 256

/** The most bytes of documents sorted without an index (manual, "Sort and Index Use"). */
const SORT_BYTES = 100 * 1024 * 1024
/** Records that stay decoded while they are sorted. */
const SORT_DECODED = 1000

interface Keyed {
  record: StoreRecord
  key: KeyTuple
}

/**
 * Sorts records in memory.
 * @throws MongoError 292 for more than {@link SORT_BYTES}; with a limit only the first records count
 */
function* sorted(
  collection: Collection,
  records: Iterable<StoreRecord | undefined>,
  { sort, skip, limit }: Selection,
): Generator<StoreRecord | undefined> {
  const { keyOf, compareKeys } = compileSortKeys(sort ?? [])
  const roots = new Set(sort?.map(({ path }) => rootOf(path)))
  const compare = (left: Keyed, right: Keyed) => compareKeys(left.key, right.key)
  const wanted = limit > 0 ? skip + limit : Number.POSITIVE_INFINITY
  let found: Keyed[] = []
  let bytes = 0
  for (const record of records) {
    if (record === undefined) {
      yield undefined
      continue
    }
    const key = keyOf(record.fields(roots))
    found.push({
      record: found.length < SORT_DECODED ? record : new StoreRecord(record.number, record.body),
      key,
    })
    bytes += record.body.length
    if (found.length > wanted * 2 + SORT_DECODED) {
      found = found.sort(compare).slice(0, wanted)
      bytes = found.reduce((sum, { record }) => sum + record.body.length, 0)
    }
    if (bytes > SORT_BYTES) {
      throw new MongoError(
        292,
        `Sort exceeded memory limit of ${SORT_BYTES} bytes, and no index has this order.`,
      )
    }
  }
  const inOrder = yield* sortInSlices(found, compare, collection.host.slice)
  collection.refuseDropped()
  for (const { record } of inOrder) yield record
}

function readHint(fields: CommandFields, collection: Collection | undefined): CollectionIndex | undefined {
  const hint = fields.raw('hint')
  if (hint === undefined) return undefined
  if (typeof hint !== 'string' && !isDocument(hint)) {
    throw new MongoError(9, 'Hint must be a string or an object')
  }
  if (isDocument(hint) && hint.has('$natural')) {
    throw new MongoError(
      238,
      'hint: {$natural: …} is not supported by the embedded store; leave the hint out',
    )
  }
  if (collection === undefined) return undefined
  const index = collection.indexes.find((candidate) => !candidate.building && candidate.isNamedBy(hint))
  if (index === undefined) {
    throw new MongoError(2, 'error processing query: hint provided does not correspond to an existing index')
  }
  return index
}

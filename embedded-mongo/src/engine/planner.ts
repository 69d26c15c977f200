import type { CompiledFilter } from '../semantics/filter.ts'
import { indexRanges } from '../semantics/index-ranges.ts'
import { parseSort } from '../semantics/sort.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { Collection } from './collection.ts'
import type { CollectionIndex } from './collection-index.ts'
import type { KeyRange } from './sorted-entries.ts'
import type { StoreRecord } from './store-record.ts'

/** What is to be found. `hint` restricts the choice to one index. */
export interface Question {
  filter: CompiledFilter
  sort: BsonDocument | undefined
  skip: number
  limit: number
  hint: CollectionIndex | undefined
}

/** Records among which all matches are; `sorted` if they come in the order asked for. */
export interface Plan {
  records: Iterable<StoreRecord>
  sorted: boolean
  /** The index used; undefined for a scan of the collection. */
  index: CollectionIndex | undefined
}

interface Candidate {
  index: CollectionIndex
  ranges: readonly KeyRange[]
  sorted: boolean
  backwards: boolean
  estimate: number
}

/**
 * Chooses the index that reads the fewest records. Every plan yields a superset of the matches (the filter
 * runs over it again), so a wrong estimate costs time and never an answer.
 */
export function choosePlan(collection: Collection, question: Question): Plan {
  const indexes = question.hint === undefined ? collection.indexes : [question.hint]
  const candidates: Candidate[] = []
  for (const index of indexes) {
    const candidate = consider(index, question)
    if (candidate !== undefined) candidates.push(candidate)
  }
  const fewest = Math.min(collection.size, ...candidates.map((candidate) => candidate.estimate))
  let best: Candidate | undefined
  let bestCost = question.sort === undefined ? collection.size : sortCost(collection.size)
  for (const candidate of candidates) {
    const cost = costOf(candidate, question, fewest)
    if (cost < bestCost || question.hint !== undefined) {
      best = candidate
      bestCost = cost
    }
  }
  const sorted = question.sort === undefined || best?.sorted === true
  return { records: best === undefined ? collection.records() : read(best), sorted, index: best?.index }
}

/** A sorted plan may stop early: at `limit`, if the matches are spread evenly over what it reads. */
function costOf(candidate: Candidate, question: Question, fewest: number): number {
  if (question.sort !== undefined && !candidate.sorted) return sortCost(candidate.estimate)
  if (question.limit === 0) return candidate.estimate
  const wanted = question.limit + question.skip
  return Math.min(candidate.estimate, (wanted * candidate.estimate) / Math.max(1, fewest))
}

function sortCost(count: number): number {
  return count * (1 + Math.log2(count + 1) / 4)
}

function consider(index: CollectionIndex, question: Question): Candidate | undefined {
  const found = indexRanges(question.filter, index.spec, index.multikey)
  // Without conditions on its fields an index is still good for its order, if it holds every document.
  if (found === undefined && (index.spec.sparse || index.spec.partial !== undefined)) return undefined
  const ranges: readonly KeyRange[] = found?.ranges ?? [{}]
  const order = ranges.length === 1 ? sortOrder(index, found?.equalFields ?? 0, question) : undefined
  if (found === undefined && order === undefined && question.hint === undefined) return undefined
  const estimate = ranges.reduce((sum, range) => sum + index.entries.estimate(range), 0)
  return { index, ranges, sorted: order !== undefined, backwards: order === 'backwards', estimate }
}

/** Whether reading the index yields the sort order, given that its first `pinned` fields hold one value each. */
function sortOrder(
  index: CollectionIndex,
  pinned: number,
  { sort, filter }: Question,
): 'forwards' | 'backwards' | undefined {
  if (sort === undefined || index.multikey || filter.collation !== undefined) return undefined
  const { fields } = index.spec
  const fixed = new Set(fields.slice(0, pinned).map(({ path }) => path))
  let position = pinned
  let turn = 0
  for (const { path, direction } of parseSort(sort)) {
    if (fixed.has(path)) continue
    const field = fields[position]
    position += 1
    if (field === undefined || field.path !== path) return undefined
    const same = direction * field.direction
    if (turn !== 0 && turn !== same) return undefined
    turn = same
  }
  return turn < 0 ? 'backwards' : 'forwards'
}

function* read({ index, ranges, backwards }: Candidate): Generator<StoreRecord> {
  // One record has several keys in a multikey index, and two ranges may both hold some of them.
  const seen = index.multikey ? new Set<number>() : undefined
  for (const range of ranges) {
    const records = backwards ? index.entries.scanBackwards(range) : index.entries.scan(range)
    for (const record of records) {
      if (seen?.has(record.seq) === true) continue
      seen?.add(record.seq)
      yield record
    }
  }
}

import type { CompiledFilter } from '../semantics/filter.ts'
import { EVERY_KEY, impliesPartial, indexRanges, type KeyRange } from '../semantics/index-ranges.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { SortField } from '../semantics/sort.ts'
import type { Collection } from './collection.ts'
import type { CollectionIndex } from './collection-index.ts'

/** The query to plan; `hint` restricts the choice to one index. */
export interface Question {
  filter: CompiledFilter
  sort: readonly SortField[] | undefined
  skip: number
  limit: number
  hint: CollectionIndex | undefined
}

/** Where to read so that all matches are found; `read-plan.ts` executes it. */
export interface Plan {
  /** The index to read; undefined for a scan of the collection. */
  index: CollectionIndex | undefined
  ranges: readonly KeyRange[]
  backwards: boolean
  /** Whether the documents come in the order asked for. */
  sorted: boolean
  /** Whether everything read matches, so that the filter need not run. */
  exact: boolean
}

type IndexPlan = Plan & { index: CollectionIndex; pinned: number }

/** Reading this many entries is as fast as counting those of other plans. */
const HANDFUL = 16
/** How far entries are counted: to compare all plans at first, and at most. */
const FEW = 256
const MANY = 20_000

/**
 * Chooses the index that reads the fewest documents. Every plan yields a superset of the matches, and the filter
 * runs over it unless the plan is exact, so a wrong estimate costs time but never a wrong answer.
 * @throws MongoError 291 for a hint at a partial index that may not hold all matches
 */
export function choosePlan(collection: Collection, question: Question): Plan {
  if (question.hint !== undefined) return hinted(question.hint, question)
  const plans: IndexPlan[] = []
  for (const index of collection.indexes) {
    const found = index.building ? undefined : indexRanges(question.filter, index.spec, index.multikey)
    const plan = found === undefined ? ordering(index, question) : planOf(index, found, question)
    // The filter pins all fields of a unique index: no plan reads less.
    if (found !== undefined && index.unique && found.equalFields === index.spec.fields.length)
      return plan ?? scan(question)
    if (plan !== undefined) plans.push(plan)
  }
  // The plan that pins the most fields is most likely the best.
  plans.sort((left, right) => right.pinned - left.pinned)
  // No other index reads less than a plan that reads only matches, and in order.
  const best = plans.length > 1 ? plans.find(({ exact, sorted }) => exact && sorted) : plans[0]
  if (best !== undefined) return best
  return plans.length > 1 ? cheapest(collection, plans, question) : scan(question)
}

function scan({ filter, sort }: Question): Plan {
  const exact = matchesAll(filter)
  return { index: undefined, ranges: [], backwards: false, sorted: sort === undefined, exact }
}

function matchesAll(filter: CompiledFilter): boolean {
  return filter.conditions.length === 0
}

/**
 * Plans with the hinted index. A hint at a sparse index finds only the documents in it, as in MongoDB (manual,
 * "Sparse Indexes").
 */
function hinted(index: CollectionIndex, question: Question): Plan {
  const shape = { ...index.spec, sparse: false }
  if (index.spec.partial !== undefined && !impliesPartial(question.filter, index.spec.partial)) {
    throw new MongoError(
      291,
      `error processing query: the filter does not imply the condition of the hinted partial index ${index.spec.name}`,
    )
  }
  return planOf(index, indexRanges(question.filter, shape, index.multikey), question)
}

/** Plans an index for its order alone, without conditions on its fields, if it holds every document. */
function ordering(index: CollectionIndex, question: Question): IndexPlan | undefined {
  if (
    question.sort === undefined ||
    index.building ||
    index.spec.sparse ||
    index.spec.partial !== undefined
  ) {
    return undefined
  }
  const plan = planOf(index, undefined, question)
  return plan.sorted ? plan : undefined
}

function planOf(
  index: CollectionIndex,
  found: ReturnType<typeof indexRanges>,
  question: Question,
): IndexPlan {
  const ranges = found?.ranges ?? [EVERY_KEY]
  const order = ranges.length === 1 ? sortOrder(index, found?.equalFields ?? 0, question) : undefined
  return {
    index,
    ranges,
    backwards: order === 'backwards',
    sorted: question.sort === undefined || order !== undefined,
    exact: found === undefined ? matchesAll(question.filter) : found.exact,
    pinned: found?.equalFields ?? 0,
  }
}

/** Returns the cheapest plan; counts only as far as it takes to tell the plans apart. */
function cheapest(collection: Collection, plans: readonly IndexPlan[], question: Question): Plan {
  const roughly: number[] = []
  for (const plan of plans) {
    const count = countOf(collection, plan, FEW)
    if (count <= HANDFUL) return plan
    roughly.push(count)
  }
  const unclear = Math.min(...roughly) >= FEW
  const counts = plans.map((plan, position) => {
    const rough = roughly[position] ?? 0
    const deep = unclear || (question.sort !== undefined && plan.sorted)
    return rough >= FEW && deep ? rememberedCount(collection, plan) : rough
  })
  const fewest = Math.min(...counts)
  let best: { plan: IndexPlan; cost: number } | undefined
  for (const [position, plan] of plans.entries()) {
    const count = counts[position] ?? 0
    const share = count > fewest ? fewest / Math.max(1, collection.size) : 1
    const cost = costOf(plan, { count, share }, question)
    if (best === undefined || cost < best.cost || (cost === best.cost && saysMore(plan, best.plan))) {
      best = { plan, cost }
    }
  }
  return best?.plan ?? scan(question)
}

function saysMore(plan: IndexPlan, other: IndexPlan): boolean {
  return plan.exact === other.exact ? plan.pinned > other.pinned : plan.exact
}

/** Estimates the cost of a plan. A sorted plan may stop at `limit`; `share` is the part of its entries that should match. */
function costOf(plan: Plan, { count, share }: { count: number; share: number }, question: Question): number {
  if (!plan.sorted) return count * (1 + Math.log2(count + 1) / 4)
  if (question.limit === 0) return count
  return Math.min(count, (question.limit + question.skip) / share)
}

/** How many ranges of a plan are counted; the rest is extrapolated. */
const COUNTED_RANGES = 8

function countOf({ host, size }: Collection, { index, ranges }: IndexPlan, limit: number): number {
  if (ranges[0] === EVERY_KEY && index.spec.partial === undefined) return size
  const counted = ranges.slice(0, COUNTED_RANGES)
  const sum = counted.reduce((sum, range) => sum + host.file.count(index.tree, range, limit), 0)
  return (sum * ranges.length) / Math.max(1, counted.length)
}

/** Counts of long ranges, by index and by the outer bounds of the plan's ranges. */
const remembered = new WeakMap<CollectionIndex, Map<string, { count: number; size: number; at: number }>>()
const REMEMBERED_RANGES = 256
const REMEMBERED_MS = 60_000

/** Counts a long range; again only after a minute, or once the collection's size has changed by a fifth. */
function rememberedCount(collection: Collection, plan: IndexPlan): number {
  const { index, ranges } = plan
  const known = remembered.get(index) ?? new Map<string, { count: number; size: number; at: number }>()
  remembered.set(index, known)
  const key = `${ranges[0]?.from} ${ranges.at(-1)?.to}`
  const now = performance.now()
  const last = known.get(key)
  if (last !== undefined && now - last.at < REMEMBERED_MS) {
    if (Math.abs(collection.size - last.size) * 5 < last.size) return last.count
  }
  const count = countOf(collection, plan, MANY)
  if (known.size >= REMEMBERED_RANGES) known.clear()
  known.set(key, { count, size: collection.size, at: now })
  return count
}

/**
 * Returns the direction in which the index yields the sort order, if any, given that its first `pinned` fields
 * hold one value each.
 */
function sortOrder(
  index: CollectionIndex,
  pinned: number,
  { sort }: Question,
): 'forwards' | 'backwards' | undefined {
  if (sort === undefined || index.multikey) return undefined
  const { fields, sparse } = index.spec
  // An array element that lacks the field has no entry in a sparse index, but still counts for the order.
  if (sparse && fields.some(({ path }) => path.includes('.'))) return undefined
  const fixed = new Set(fields.slice(0, pinned).map(({ path }) => path))
  let position = pinned
  let turn = 0
  for (const { path, direction } of sort) {
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

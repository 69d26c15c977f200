import { identicalValues } from './compare.ts'
import { isIndexComponent } from './field-paths.ts'
import type { CompiledFilter } from './filter.ts'
import { compileTest } from './filter-tests.ts'
import type { FieldTest, FilterNode } from './filter-tree.ts'
import { encodeField, type IndexShape } from './index-keys.ts'
import { encodeValue, invertKey, typeRank } from './key-encoding.ts'
import { exactNumber } from './numbers.ts'
import { type BsonValue, isNumber } from './values.ts'

/** Encoded keys from `from` up to, not including, `to`. */
export interface KeyRange {
  readonly from: string
  readonly to: string
}

/** Which part of an index can hold the matches of a filter. */
export interface IndexPlan {
  /** In key order and disjoint; every matching document has a key in one of them. */
  readonly ranges: readonly KeyRange[]
  /** How many leading fields are pinned to single values. */
  readonly equalFields: number
  /** Whether, conversely, every document with a key in one of the ranges matches. */
  readonly exact: boolean
}

type FieldNode = Extract<FilterNode, { kind: 'field' }>

const undefinedRank = 2
const nullRank = 5

/** More start points than this are not worth seeking one by one. */
const maxPoints = 1_000

/**
 * Finds the key ranges a filter confines an index to, or undefined if the index cannot be used. Unless the plan
 * is `exact` the caller still runs the filter. `multikey` must be true if any document ever had several keys in the
 * index; then two conditions on one path may be met by different elements, so only one of them is used.
 */
export function indexRanges(
  filter: CompiledFilter,
  shape: IndexShape,
  multikey: boolean,
): IndexPlan | undefined {
  const { conditions } = filter
  const partial = shape.partial?.conditions ?? []
  const nodes = conditions.filter((node) => node.kind === 'field')
  if (!implies(nodes, partial)) return undefined
  // Without conditions on its fields a partial index still holds all matches, and fewer documents than the
  // collection.
  const plan = buildPlan(nodes, shape, multikey) ?? (shape.partial && WHOLE)
  if (!plan || (shape.sparse && !plan.excludesMissing)) return undefined
  const exact = conditions.every(
    (node) => plan.answered.has(node) || partial.some((known) => sameNode(node, known)),
  )
  return { ranges: plan.ranges, equalFields: plan.equalFields, exact }
}

/** True if every match of a filter is in an index with this partial filter. Conservative. */
export function impliesPartial(filter: CompiledFilter, partial: CompiledFilter): boolean {
  const nodes = filter.conditions.filter((node) => node.kind === 'field')
  return implies(nodes, partial.conditions)
}

/** Every key: none begins with FF. */
export const EVERY_KEY: KeyRange = { from: '', to: '\xff' }
const WHOLE = {
  ranges: [EVERY_KEY],
  equalFields: 0,
  excludesMissing: false,
  answered: new Set<FilterNode>(),
}

/** The bounds of one field, and the conditions that are equivalent to them. */
type Bounds = { readonly answered: readonly FieldNode[] } & (
  | { readonly points: readonly BsonValue[] }
  | { readonly span: Span }
)

function buildPlan(nodes: readonly FieldNode[], shape: IndexShape, multikey: boolean) {
  let prefixes = ['']
  let equalFields = 0
  let excludesMissing = false
  const answered = new Set<FilterNode>()
  const openedRoots = new Set<string>()
  for (const { path, direction } of shape.fields) {
    const root = path.split('.')[0] ?? ''
    // Conditions on a.b and a.c may be met by different elements of a, which share no key.
    const bounds = multikey && openedRoots.has(root) ? undefined : boundsFor(nodes, path, multikey)
    openedRoots.add(root)
    if (!bounds) break
    if ('points' in bounds && prefixes.length * bounds.points.length > maxPoints) break
    for (const node of bounds.answered) answered.add(node)
    if ('span' in bounds) {
      const ranges = prefixes.map((prefix) => spanRange(prefix, bounds.span, direction)).filter(isNonEmpty)
      return { ranges: ordered(ranges), equalFields, excludesMissing: true, answered }
    }
    excludesMissing ||= !bounds.points.includes(null)
    prefixes = prefixes.flatMap((prefix) =>
      bounds.points.map((point) => prefix + encodeField(point, direction)),
    )
    equalFields++
  }
  if (equalFields === 0) return undefined
  const ranges = [...new Set(prefixes)].map((prefix) => ({ from: prefix, to: `${prefix}\xff` }))
  return { ranges: ordered(ranges), equalFields, excludesMissing, answered }
}

function ordered(ranges: readonly KeyRange[]): KeyRange[] {
  return [...ranges].sort((left, right) => (left.from < right.from ? -1 : left.from > right.from ? 1 : 0))
}

function isNonEmpty(range: KeyRange): boolean {
  return range.from < range.to
}

/** A stretch of one field's ascending keys; `after` cuts behind every key that begins with the bytes. */
interface Span {
  readonly low: Cut
  readonly high: Cut
}

interface Cut {
  readonly bytes: string
  readonly after: boolean
}

/**
 * A whole value is followed by nothing or by the next field's type byte, which is never FF. A lone type byte is
 * followed by any byte, FF included once inverted, so there the cut is the next type byte.
 */
function cutKey({ bytes, after }: Cut): string {
  if (!after) return bytes
  return bytes.length === 1 ? String.fromCharCode(bytes.charCodeAt(0) + 1) : `${bytes}\xff`
}

function spanRange(prefix: string, span: Span, direction: 1 | -1): KeyRange {
  if (direction === 1) return { from: prefix + cutKey(span.low), to: prefix + cutKey(span.high) }
  return { from: prefix + cutKey(inverted(span.high)), to: prefix + cutKey(inverted(span.low)) }
}

function inverted(cut: Cut): Cut {
  return { bytes: invertKey(cut.bytes), after: !cut.after }
}

function boundsFor(nodes: readonly FieldNode[], path: string, multikey: boolean): Bounds | undefined {
  const asked = nodes.filter((candidate) => candidate.path === path)
  // A numeric component is a position or a name, and index keys and queries read arrays in arrays differently.
  if (asked.length === 0 || path.split('.').some(isIndexComponent)) return undefined
  let span: Span | undefined
  const answered: FieldNode[] = []
  for (const node of asked) {
    const points = pointsOf(node.test)
    if (points) return { points, answered: points.every(isWholeKey) ? [node] : [] }
    const next = spanOf(node.test)
    if (!next || (span && multikey)) continue
    span = span ? intersect(span, next) : next
    if (isExactSpan(node.test)) answered.push(node)
  }
  return span && { span, answered }
}

/** A key for null also stands for a missing field and other cases, not all of which equal null. */
function isWholeKey(point: BsonValue): boolean {
  return typeRank(point) !== nullRank && typeRank(point) !== undefinedRank
}

/** NaN sorts below every number, but is not less than any. */
function isExactSpan(test: FieldTest): boolean {
  if (test.op !== 'gt' && test.op !== 'gte' && test.op !== 'lt' && test.op !== 'lte') return false
  const { value } = test
  if (!isNumber(value)) return typeof value === 'string' || value instanceof Date
  return (test.op === 'gt' || test.op === 'gte') && exactNumber(value).kind !== 'nan'
}

function intersect(left: Span, right: Span): Span {
  return {
    low: cutKey(left.low) > cutKey(right.low) ? left.low : right.low,
    high: cutKey(left.high) < cutKey(right.high) ? left.high : right.high,
  }
}

/** The values an equality pins a field to. An array is not a key of its own, so it pins nothing. */
function pointsOf(test: FieldTest): readonly BsonValue[] | undefined {
  if (test.op === 'eq') return Array.isArray(test.value) ? undefined : [test.value]
  if (test.op === 'in') {
    return test.regexes.length > 0 || test.values.some((value) => Array.isArray(value))
      ? undefined
      : test.values
  }
  // By type bracketing these hold only for null and missing fields.
  return (test.op === 'gte' || test.op === 'lte') && test.value === null ? [null] : undefined
}

function spanOf(test: FieldTest): Span | undefined {
  if (test.op !== 'gt' && test.op !== 'gte' && test.op !== 'lt' && test.op !== 'lte') return undefined
  const { value } = test
  const rank = typeRank(value)
  // A range from or to null holds for missing fields, which have the same key and are not in every index.
  if (Array.isArray(value) || rank === nullRank) return undefined
  const type = String.fromCharCode(rank)
  const key = encodeValue(value)
  if (test.op === 'gt' || test.op === 'gte') {
    return { low: { bytes: key, after: test.op === 'gt' }, high: { bytes: type, after: true } }
  }
  return { low: { bytes: type, after: false }, high: { bytes: key, after: test.op === 'lte' } }
}

/** True if every document the conditions let through is in the partial index. Conservative. */
function implies(nodes: readonly FieldNode[], partial: readonly FilterNode[]): boolean {
  return partial.every((wanted) => {
    if (wanted.kind !== 'field') return false
    const onPath = nodes.filter((node) => node.path === wanted.path)
    return onPath.some((node) => sameTest(node.test, wanted.test) || pointsSatisfy(node.test, wanted.test))
  })
}

function sameNode(left: FilterNode, right: FilterNode): boolean {
  return (
    left.kind === 'field' &&
    right.kind === 'field' &&
    left.path === right.path &&
    sameTest(left.test, right.test)
  )
}

function sameTest(left: FieldTest, right: FieldTest): boolean {
  if (!('value' in left) || !('value' in right)) return left.op === 'exists' && right.op === 'exists'
  return left.op === right.op && identicalValues(left.value, right.value)
}

function pointsSatisfy(test: FieldTest, wanted: FieldTest): boolean {
  if (wanted.op === 'elemMatchValue' || wanted.op === 'elemMatchObject') return false
  if (wanted.op === 'exists' && spanOf(test)) return true
  const points = pointsOf(test)
  if (!points || points.includes(null)) return false
  const accepts = compileTest(wanted)
  return points.every((point) => accepts(point, { now: new Date(0), arrayIndex: -1 }))
}

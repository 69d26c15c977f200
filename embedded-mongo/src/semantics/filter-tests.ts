import { compareValues, equalValues } from './compare.ts'
import type { Comparison, PlainTest, RegexTest } from './filter-tree.ts'
import { encodeValue, typeRank } from './key-encoding.ts'
import { isNaNNumber } from './numbers.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from './values.ts'

/** The state of one run of a filter: the store's clock, and the array index for the positional `$` (-1: none). */
export interface MatchContext {
  readonly now: Date
  arrayIndex: number
}

/** Tests one value; undefined means the field is missing. */
export type ValueTest = (value: BsonValue | undefined, context: MatchContext) => boolean

/** Tests a whole document. */
export type DocumentTest = (document: BsonDocument, context: MatchContext) => boolean

/** Compiles a test of one value that contains no further filters. */
export function compileTest(test: PlainTest): ValueTest {
  switch (test.op) {
    case 'in':
      return inTest(test.values, test.regexes)
    case 'exists':
      return (value) => value !== undefined
    case 'regex':
      return (value) => regexMatches(value, test)
    case 'size':
      return (value) => Array.isArray(value) && BigInt(value.length) === test.size
    default:
      return comparisonTest(test.op, test.value)
  }
}

/**
 * Comparisons hold only within one type rank (type bracketing), except that null also stands for a missing field. NaN is
 * neither above nor below any number.
 */
function comparisonTest(op: Comparison, wanted: BsonValue): ValueTest {
  const rank = typeRank(wanted)
  const includesEqual = op !== 'gt' && op !== 'lt'
  const wantedIsNaN = isNumber(wanted) && isNaNNumber(wanted)
  const accepts = acceptedOrders[op]
  return (value) => {
    if (value === undefined) return wanted === null && includesEqual
    if (typeRank(value) !== rank) return false
    if (op !== 'eq' && isNumber(value) && (wantedIsNaN || isNaNNumber(value))) {
      return includesEqual && wantedIsNaN && isNaNNumber(value)
    }
    return accepts(compareValues(value, wanted))
  }
}

const acceptedOrders: Record<Comparison, (result: number) => boolean> = {
  eq: (result) => result === 0,
  gt: (result) => result > 0,
  gte: (result) => result >= 0,
  lt: (result) => result < 0,
  lte: (result) => result <= 0,
}

/** Up to this many values are compared one by one. */
export const linearScanLimit = 8

function inTest(values: readonly BsonValue[], regexes: readonly RegexTest[]): ValueTest {
  const hasNull = values.includes(null)
  const isMember = membership(values)
  return (value) => {
    if (value === undefined) return hasNull
    return isMember(value) || regexes.some((regex) => regexMatches(value, regex))
  }
}

/** Compiles a check whether a value equals one of `values`. */
function membership(values: readonly BsonValue[]): (value: BsonValue) => boolean {
  if (values.length <= linearScanLimit) {
    return (value) => values.some((wanted) => equalValues(value, wanted))
  }
  const keys = new Set(values.map(encodeValue))
  return (value) => keys.has(encodeValue(value))
}

function regexMatches(value: BsonValue | undefined, regex: RegexTest): boolean {
  if (typeof value === 'string') return regex.compiled.test(value)
  if (value === null || typeof value !== 'object' || !('_bsontype' in value)) return false
  return (
    value._bsontype === 'BSONRegExp' && value.pattern === regex.pattern && value.options === regex.options
  )
}

/** `$elemMatch`: passes if an element passes the test. */
export function elementTest(test: ValueTest): ValueTest {
  return (value, context) => {
    if (!Array.isArray(value)) return false
    const before = context.arrayIndex
    const found = value.findIndex((element) => test(element, context))
    context.arrayIndex = found === -1 ? before : found
    return found !== -1
  }
}

/** Applies the field conditions of `$elemMatch` to documents, and to arrays as documents keyed by index. */
export function embeddedTest(test: DocumentTest): ValueTest {
  return (value, context) => {
    if (isDocument(value)) return test(value, context)
    if (!Array.isArray(value)) return false
    return test(new Map(value.map((element, index) => [String(index), element])), context)
  }
}

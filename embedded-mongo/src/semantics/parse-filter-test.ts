import { type BsonTypeName, describeValue, typeNames, typeNumberOf } from './describe-value.ts'
import type { Comparison, FieldTest, RegexTest } from './filter-tree.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { exactNumber, integerValue, truncateToInt64 } from './numbers.ts'
import { compileRegex } from './regex.ts'
import { type BsonNumber, type BsonValue, bsonUndefined, isNumber, isRegex } from './values.ts'

/** A stored regular expression as a test, or undefined for any other value. */
export function regexTest(value: BsonValue): RegexTest | undefined {
  return isRegex(value) ? compileRegexTest(value.pattern, value.options) : undefined
}

function compileRegexTest(pattern: string, options: string): RegexTest {
  return { op: 'regex', pattern, options, compiled: compileRegex(pattern, options) }
}

/** $eq, $gt, $gte, $lt, $lte. A regular expression can only be compared for equality. */
export function parseComparison(path: string, op: Comparison, value: BsonValue): FieldTest {
  if (value === bsonUndefined) throw mongoError('BadValue', 'cannot compare to undefined')
  if (op !== 'eq' && isRegex(value)) {
    throw mongoError('BadValue', `Can't have RegEx as arg to predicate over field '${path}'.`)
  }
  return { op, value }
}

/** $in and $nin: equalities and regular expressions. */
export function parseIn(
  name: '$in' | '$nin',
  value: BsonValue,
  isOperatorDocument: (item: BsonValue) => boolean,
): FieldTest {
  if (!Array.isArray(value)) throw mongoError('BadValue', `${name} needs an array`)
  const values: BsonValue[] = []
  const regexes: RegexTest[] = []
  for (const item of value) {
    if (isOperatorDocument(item)) throw mongoError('BadValue', `cannot nest $ under ${name}`)
    if (item === bsonUndefined) throw mongoError('BadValue', 'InMatchExpression equality cannot be undefined')
    const regex = regexTest(item)
    if (regex) regexes.push(regex)
    else values.push(item)
  }
  return { op: 'in', values, regexes }
}

/** $regex with its $options; both may carry options, but not at once. */
export function parseRegex(value: BsonValue, options: BsonValue | undefined): FieldTest {
  if (options !== undefined && typeof options !== 'string')
    throw mongoError('BadValue', '$options has to be a string')
  if (typeof value === 'string') return compileRegexTest(value, options ?? '')
  if (!isRegex(value)) throw mongoError('BadValue', '$regex has to be a string')
  if (value.options !== '' && options !== undefined && options !== '') {
    throw new MongoError(51075, 'options set in both $regex and $options')
  }
  return compileRegexTest(value.pattern, value.options || (options ?? ''))
}

/** $size: a whole number of any type, zero or more. */
export function parseSize(value: BsonValue): FieldTest {
  const shown = `$size: ${describeValue(value)}`
  if (!isNumber(value)) throw mongoError('BadValue', `Failed to parse $size. Expected a number in: ${shown}`)
  const size = integerValue(value)
  if (size === undefined) throw mongoError('BadValue', `Failed to parse $size. Expected an integer: ${shown}`)
  if (size < 0n) {
    throw mongoError('BadValue', `Failed to parse $size. Expected a non-negative number in: ${shown}`)
  }
  if (size > 0x7fffffffn) {
    throw mongoError('BadValue', `Failed to parse $size. Cannot represent as a 32-bit integer: ${shown}`)
  }
  return { op: 'size', size }
}

/** $mod: [divisor, remainder], fractions cut off. */
export function parseMod(value: BsonValue): FieldTest {
  if (!Array.isArray(value)) throw mongoError('BadValue', 'malformed mod, needs to be an array')
  const [divisorValue, remainderValue, ...surplus] = value
  if (divisorValue === undefined || remainderValue === undefined) {
    throw mongoError('BadValue', 'malformed mod, not enough elements')
  }
  if (surplus.length > 0) throw mongoError('BadValue', 'malformed mod, too many elements')
  const divisor = modOperand('divisor', divisorValue)
  const remainder = modOperand('remainder', remainderValue)
  if (divisor === 0n) throw mongoError('BadValue', 'divisor cannot be 0')
  return { op: 'mod', divisor, remainder }
}

function modOperand(name: string, value: BsonValue): bigint {
  if (!isNumber(value)) throw mongoError('BadValue', `malformed mod, ${name} not a number`)
  const operand = truncateToInt64(value)
  if (operand === undefined) {
    throw mongoError(
      'BadValue',
      `malformed mod, ${name} value is invalid :: caused by :: ${outOfRange(value)}`,
    )
  }
  return operand
}

function outOfRange(value: BsonNumber): string {
  if (exactNumber(value).kind === 'finite') return 'Out of bounds coercing to integral value'
  return 'Unable to coerce NaN/Inf to integral type'
}

const namesByAlias = new Map(typeNames.map((name) => [String(name), name]))
const namesByNumber = new Map(typeNames.map((name) => [typeNumberOf(name), name]))

/** $type: an alias or number, or an array of them; "number" means all four number types. */
export function parseTypes(path: string, value: BsonValue): FieldTest {
  const wanted = Array.isArray(value) ? value : [value]
  if (wanted.length === 0) throw mongoError('FailedToParse', `${path} must match at least one type`)
  return { op: 'type', types: new Set(wanted.flatMap(typesNamedBy)) }
}

function typesNamedBy(value: BsonValue): BsonTypeName[] {
  if (value === 'number') return ['int', 'long', 'double', 'decimal']
  if (typeof value === 'string') {
    const name = namesByAlias.get(value)
    if (!name) throw mongoError('BadValue', `Unknown type name alias: ${value}`)
    return [name]
  }
  if (!isNumber(value)) throw mongoError('TypeMismatch', 'type must be represented as a number or a string')
  const number = integerValue(value)
  const name = number === undefined ? undefined : namesByNumber.get(Number(number))
  if (!name) throw mongoError('BadValue', `Invalid numerical type code: ${describeValue(value)}`)
  return [name]
}

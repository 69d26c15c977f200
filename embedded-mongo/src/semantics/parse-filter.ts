import { describeValue } from './describe-value.ts'
import { compileExpression, isTruthy } from './expression.ts'
import { dbRefFields } from './field-paths.ts'
import type { Comparison, FieldTest, FilterNode, RegexTest } from './filter-tree.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { compileRegex } from './regex.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber, isRegex } from './values.ts'

/**
 * Parses a filter into a tree. Allowed at the top: field paths, $and, $or, $nor, $expr. Allowed on a field:
 * $eq $ne $gt $gte $lt $lte $in $nin $exists $regex ($options) $not $all $size $elemMatch. Throws
 * MongoError 2 for anything else, as MongoDB does for unknown operators.
 */
export function parseFilter(filter: BsonDocument): FilterNode {
  return parseDocument(filter, true)
}

function parseDocument(filter: BsonDocument, isTopLevel: boolean): FilterNode {
  const children: FilterNode[] = []
  for (const [name, value] of filter) {
    if (dbRefFields.has(name)) {
      children.push(field(name, parseComparison(name, 'eq', value)))
    } else if (name.startsWith('$')) children.push(...parseTopOperator(name, value, isTopLevel))
    else children.push(parseField(name, value))
  }
  return { kind: 'and', children }
}

function parseTopOperator(name: string, value: BsonValue, isTopLevel: boolean): FilterNode[] {
  switch (name) {
    case '$and':
    case '$or':
    case '$nor':
      return [parseLogical(name, value, isTopLevel)]
    case '$expr':
      if (!isTopLevel) throw mongoError('BadValue', '$expr can only be applied to the top-level document')
      return [{ kind: 'expression', expression: compileExpression(value) }]
    default:
      throw mongoError(
        'BadValue',
        `unknown top level operator: ${name}. If you have a field name that starts with a '$' symbol, ` +
          'consider using $getField or $setField.',
      )
  }
}

const logicalKinds = { $and: 'and', $or: 'or', $nor: 'nor' } as const

function parseLogical(name: keyof typeof logicalKinds, value: BsonValue, isTopLevel: boolean): FilterNode {
  if (!Array.isArray(value)) throw mongoError('BadValue', `${name} must be an array`)
  if (value.length === 0) throw mongoError('BadValue', '$and/$or/$nor must be a nonempty array')
  const children = value.map((branch) => {
    if (!isDocument(branch)) throw mongoError('BadValue', '$or/$and/$nor entries need to be full objects')
    return parseDocument(branch, isTopLevel)
  })
  return { kind: logicalKinds[name], children }
}

function parseField(path: string, value: BsonValue): FilterNode {
  return isOperatorDocument(value) ? parseOperators(path, value) : parseValue(path, value)
}

/** Checks whether the first name is an operator; a document with `$ref` and `$id` anywhere is a DBRef, so a value. */
function isOperatorDocument(value: BsonValue): value is BsonDocument {
  return startsWithOperator(value) && !(value.has('$ref') && value.has('$id'))
}

function startsWithOperator(value: BsonValue): value is BsonDocument {
  return isDocument(value) && value.keys().next().value?.startsWith('$') === true
}

/** Parses `{$gt: 1, $lt: 5}` for a path: every operator must hold. */
function parseOperators(path: string, operators: BsonDocument): FilterNode {
  const children: FilterNode[] = []
  for (const [name, value] of operators) {
    const parse = operatorParsers.get(name)
    if (parse) children.push(parse(path, value, operators))
    else if (name !== '$options') throw mongoError('BadValue', `unknown operator: ${name}`)
    else if (!operators.has('$regex')) throw mongoError('BadValue', '$options needs a $regex')
  }
  return { kind: 'and', children }
}

type OperatorParser = (path: string, value: BsonValue, all: BsonDocument) => FilterNode

const operatorParsers = new Map<string, OperatorParser>([
  ['$eq', comparison('eq')],
  ['$gt', comparison('gt')],
  ['$gte', comparison('gte')],
  ['$lt', comparison('lt')],
  ['$lte', comparison('lte')],
  ['$ne', parseNotEqual],
  ['$in', (path, value) => field(path, parseIn('$in', value))],
  ['$nin', (path, value) => negate(field(path, parseIn('$nin', value)))],
  ['$exists', parseExists],
  ['$regex', (path, value, all) => field(path, parseRegex(value, all.get('$options')))],
  ['$size', (path, value) => field(path, parseSize(value))],
  ['$not', (path, value) => negate(parseNegated(path, value))],
  ['$all', parseAll],
  ['$elemMatch', parseElemMatch],
])

function field(path: string, test: FieldTest): FilterNode {
  return { kind: 'field', path, test }
}

/** Parses a plain value: an equality, or a match for a regular expression. */
function parseValue(path: string, value: BsonValue): FilterNode {
  return field(path, regexTest(value) ?? parseComparison(path, 'eq', value))
}

function comparison(op: Comparison): OperatorParser {
  return (path, value) => field(path, parseComparison(path, op, value))
}

function parseNotEqual(path: string, value: BsonValue): FilterNode {
  if (isRegex(value)) throw mongoError('BadValue', "Can't have regex as arg to $ne.")
  return negate(parseValue(path, value))
}

function parseExists(path: string, value: BsonValue): FilterNode {
  const exists = field(path, { op: 'exists' })
  return isTruthy(value) ? exists : negate(exists)
}

function negate(child: FilterNode): FilterNode {
  return { kind: 'not', child }
}

function parseNegated(path: string, value: BsonValue): FilterNode {
  if (isRegex(value)) return parseValue(path, value)
  if (!isDocument(value)) throw mongoError('BadValue', '$not needs a regex or a document')
  if (value.size === 0) throw mongoError('BadValue', '$not cannot be empty')
  return parseOperators(path, value)
}

function parseAll(path: string, value: BsonValue): FilterNode {
  if (!Array.isArray(value)) throw mongoError('BadValue', '$all needs an array')
  if (value.length === 0) return { kind: 'never' }
  const children = value.map((item): FilterNode => {
    if (isOperatorDocument(item)) throw mongoError('BadValue', 'no $ expressions in $all')
    return parseValue(path, item)
  })
  return { kind: 'and', children }
}

/** Parses conditions on the elements themselves (`{$gte: 1}`) or on fields of document elements (`{b: 1}`, `{$or: …}`). */
function parseElemMatch(path: string, value: BsonValue): FilterNode {
  if (!isDocument(value)) throw mongoError('BadValue', '$elemMatch needs an Object')
  const first = value.keys().next().value
  if (first === '$where') throw mongoError('BadValue', '$elemMatch cannot contain $where expression')
  const isReference = Array.from(dbRefFields).some((name) => value.has(name))
  const isForValues =
    startsWithOperator(value) &&
    !isReference &&
    first !== undefined &&
    !(first in logicalKinds) &&
    first !== '$expr'
  if (isForValues) {
    return field(path, { op: 'elemMatchValue', node: parseOperators('', value) })
  }
  return field(path, { op: 'elemMatchObject', node: parseDocument(value, false) })
}

/** A stored regular expression as a test, or undefined for any other value. */
function regexTest(value: BsonValue): RegexTest | undefined {
  return isRegex(value) ? compileRegexTest(value.pattern, value.options) : undefined
}

function compileRegexTest(pattern: string, options: string): RegexTest {
  return { op: 'regex', pattern, options, compiled: compileRegex(pattern, options) }
}

/** $eq, $gt, $gte, $lt, $lte. A regular expression can only be compared for equality. */
function parseComparison(path: string, op: Comparison, value: BsonValue): FieldTest {
  if (op !== 'eq' && isRegex(value)) {
    throw mongoError('BadValue', `Can't have RegEx as arg to predicate over field '${path}'.`)
  }
  return { op, value }
}

/** $in and $nin: equalities and regular expressions. */
function parseIn(name: '$in' | '$nin', value: BsonValue): FieldTest {
  if (!Array.isArray(value)) throw mongoError('BadValue', `${name} needs an array`)
  const values: BsonValue[] = []
  const regexes: RegexTest[] = []
  for (const item of value) {
    if (isOperatorDocument(item)) throw mongoError('BadValue', `cannot nest $ under ${name}`)
    const regex = regexTest(item)
    if (regex) regexes.push(regex)
    else values.push(item)
  }
  return { op: 'in', values, regexes }
}

/** $regex with its $options; both may carry options, but not at once. */
function parseRegex(value: BsonValue, options: BsonValue | undefined): FieldTest {
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
function parseSize(value: BsonValue): FieldTest {
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

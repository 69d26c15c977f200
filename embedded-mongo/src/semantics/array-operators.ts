import { type OperatorFactory, shownId } from './change-path.ts'
import { compareValues, equalValues } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { dbRefFields } from './field-paths.ts'
import { compileFilter } from './filter.ts'
import { linearScanLimit } from './filter-tests.ts'
import { encodeValue } from './key-encoding.ts'
import { mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { type BsonValue, documentOf, isDocument, isRegex } from './values.ts'

/** $push, with $each, $sort and $slice. */
export const pushOperator: OperatorFactory = (_path, argument) => {
  const extend = parsePush(argument)
  return {
    onMissing: 'create',
    apply: (current, context) => {
      if (current === undefined) return extend([])
      if (Array.isArray(current)) return extend(current)
      throw mongoError(
        'BadValue',
        `The field '${context.path}' must be an array but is of type ${shownTypeOf(current)} in document ${shownId(context.document)}`,
      )
    },
  }
}

/** $addToSet, with $each: adds values that no element equals yet. */
export const addToSetOperator: OperatorFactory = (_path, argument) => {
  const additions = parseAdditions(argument)
  return {
    onMissing: 'create',
    apply: (current, context) => {
      if (current !== undefined && !Array.isArray(current)) {
        const shown = shownTypeOf(current)
        throw mongoError(
          'BadValue',
          `Cannot apply $addToSet to non-array field. Field named '${context.path}' has non-array type ${shown}`,
        )
      }
      return withMembers(current ?? [], additions)
    },
  }
}

function withMembers(current: readonly BsonValue[], additions: readonly BsonValue[]): BsonValue[] {
  const result = [...current]
  // Many additions are compared by key, or the cost would be the product of both lengths.
  const keys = additions.length > linearScanLimit ? new Set(current.map(encodeValue)) : undefined
  for (const value of additions) {
    if (keys?.has(encodeValue(value)) ?? result.some((item) => equalValues(item, value))) continue
    result.push(value)
    keys?.add(encodeValue(value))
  }
  return result
}

function parseAdditions(argument: BsonValue): readonly BsonValue[] {
  if (!isDocument(argument) || argument.keys().next().value !== '$each') return [argument]
  const each = argument.get('$each') ?? null
  if (!Array.isArray(each)) {
    throw mongoError(
      'TypeMismatch',
      `The argument to $each in $addToSet must be an array but it was of type ${shownTypeOf(each)}`,
    )
  }
  if (argument.size > 1) {
    throw mongoError(
      'BadValue',
      `Found unexpected fields after $each in $addToSet: ${describeValue(argument)}`,
    )
  }
  return each
}

/** $pull: removes the elements a value equals or a condition matches. */
export const pullOperator: OperatorFactory = (_path, argument) => {
  const isPulled = pullTest(argument)
  return {
    onMissing: 'skip',
    apply: (current, { now }) => {
      if (current === undefined) return undefined
      if (!Array.isArray(current)) throw mongoError('BadValue', 'Cannot apply $pull to a non-array value')
      return current.filter((element) => !isPulled(element, now))
    },
  }
}

type ElementTest = (element: BsonValue, now: Date) => boolean

const logicalOperators = new Set(['$and', '$or', '$nor'])

/** A document of fields is a query on document elements; a document of operators, or a regex, tests the element itself. */
function pullTest(argument: BsonValue): ElementTest {
  if (isDocument(argument)) {
    const first = argument.keys().next().value
    if (first === '$expr') {
      throw mongoError('QueryFeatureNotAllowed', '$expr is not allowed in this context')
    }
    if (!first?.startsWith('$') || logicalOperators.has(first) || dbRefFields.has(first)) {
      const filter = compileFilter(argument)
      return (element, now) => isDocument(element) && filter.matches(element, now)
    }
  } else if (!isRegex(argument)) return (element) => equalValues(element, argument)
  const filter = compileFilter(documentOf(['', argument]))
  return (element, now) => filter.matches(documentOf(['', element]), now)
}

/** Builds the new array from the old one. */
type Extend = (current: readonly BsonValue[]) => BsonValue[]

const clauses = new Set(['$each', '$slice', '$sort'])

/** Parses the argument of `$push`: a value, or `{$each: […], $sort, $slice}`, applied in that order. */
function parsePush(argument: BsonValue): Extend {
  if (!isDocument(argument) || !argument.has('$each')) return (current) => [...current, argument]
  for (const name of argument.keys()) {
    if (!clauses.has(name)) throw mongoError('BadValue', `Unrecognized clause in $push: ${name}`)
  }
  const each = argument.get('$each') ?? null
  if (!Array.isArray(each)) {
    throw mongoError(
      'BadValue',
      `The argument to $each in $push must be an array but it was of type: ${shownTypeOf(each)}`,
    )
  }
  const slice = parseSlice(argument.get('$slice'))
  const sort = argument.get('$sort')
  const comparator = sort === undefined ? undefined : parsePushSort(sort)
  return (current) => {
    const result = [...current, ...each]
    if (comparator) result.sort(comparator)
    if (slice === undefined) return result
    if (slice === 0) return []
    return slice > 0 ? result.slice(0, slice) : result.slice(slice)
  }
}

function parseSlice(value: BsonValue | undefined): number | undefined {
  if (value === undefined) return undefined
  const integer = integerValue(value)
  if (integer === undefined) {
    throw mongoError(
      'BadValue',
      `The value for $slice must be an integer value but was given type: ${shownTypeOf(value)}`,
    )
  }
  // Beyond any array's length the exact number does not matter.
  const clamped = integer > 0x7fffffffn ? 0x7fffffffn : integer < -0x7fffffffn ? -0x7fffffffn : integer
  return Number(clamped)
}

type Comparator = (left: BsonValue, right: BsonValue) => number

/** Sorts embedded documents by their fields, named without dots; an element without the field counts as null. */
function parsePushSort(sort: BsonValue): Comparator {
  if (!isDocument(sort) || sort.size === 0) {
    throw mongoError(
      'BadValue',
      'The $sort is invalid: this store takes {field: 1/-1} to sort embedded documents',
    )
  }
  const parts = Array.from(sort, ([name, value]) => ({
    name: sortField(name),
    direction: directionOf(value),
  }))
  return (left, right) => {
    for (const { name, direction } of parts) {
      const result = compareValues(fieldOf(left, name), fieldOf(right, name))
      if (result !== 0) return result * direction
    }
    return 0
  }
}

function directionOf(value: BsonValue): 1 | -1 {
  const integer = integerValue(value)
  if (integer === 1n) return 1
  if (integer === -1n) return -1
  throw mongoError('BadValue', 'The $sort element value must be either 1 or -1')
}

function sortField(name: string): string {
  if (name === '') throw mongoError('BadValue', 'The $sort field cannot be empty')
  if (name.includes('.')) throw mongoError('NotImplemented', `this store has no $sort by a path: ${name}`)
  return name
}

function fieldOf(element: BsonValue, name: string): BsonValue {
  return isDocument(element) ? (element.get(name) ?? null) : null
}

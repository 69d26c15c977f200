import { type FieldOperator, type OperatorFactory, shownId } from './change-path.ts'
import { compareValues, equalValues } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { dbRefFields } from './field-paths.ts'
import { compileFilter } from './filter.ts'
import { linearScanLimit, membership } from './filter-tests.ts'
import { encodeValue } from './key-encoding.ts'
import { mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { type BsonDocument, type BsonValue, documentOf, isDocument, isNumber, isRegex } from './values.ts'

/** $push, with $each, $position, $sort and $slice. */
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
export const pullOperator: OperatorFactory = (_path, argument) => cullOperator('$pull', pullTest(argument))

/** $pullAll: removes the elements equal to any of the values. */
export const pullAllOperator: OperatorFactory = (_path, argument) => {
  if (!Array.isArray(argument)) {
    throw mongoError(
      'BadValue',
      `$pullAll requires an array argument but was given a ${shownTypeOf(argument)}`,
    )
  }
  return cullOperator('$pullAll', membership(argument))
}

type ElementTest = (element: BsonValue, now: Date) => boolean

function cullOperator(name: '$pull' | '$pullAll', isCulled: ElementTest): FieldOperator {
  return {
    onMissing: 'skip',
    apply: (current, { now }) => {
      if (current === undefined) return undefined
      if (!Array.isArray(current)) throw mongoError('BadValue', `Cannot apply ${name} to a non-array value`)
      return current.filter((element) => !isCulled(element, now))
    },
  }
}

const logicalOperators = new Set(['$and', '$or', '$nor'])

/** A document of fields is a query on document elements; a document of operators, or a regex, tests the element itself. */
function pullTest(argument: BsonValue): ElementTest {
  if (isDocument(argument)) {
    const first = argument.keys().next().value
    if (first === '$expr' || first === '$comment') {
      throw mongoError('QueryFeatureNotAllowed', `${first} is not allowed in this context`)
    }
    if (!first?.startsWith('$') || logicalOperators.has(first) || dbRefFields.has(first)) {
      const filter = compileFilter(argument)
      return (element, now) => isDocument(element) && filter.matches(element, now)
    }
  } else if (!isRegex(argument)) return (element) => equalValues(element, argument)
  const filter = compileFilter(documentOf(['', argument]))
  return (element, now) => filter.matches(documentOf(['', element]), now)
}

/** $pop: 1 drops the last element, -1 the first. */
export const popOperator: OperatorFactory = (_path, argument) => {
  const end = integerValue(argument)
  if (end !== 1n && end !== -1n) {
    throw mongoError('FailedToParse', `$pop expects 1 or -1, found: ${describeValue(argument)}`)
  }
  return {
    onMissing: 'skip',
    apply: (current, { path }) => {
      if (current === undefined) return undefined
      if (!Array.isArray(current)) {
        const shown = shownTypeOf(current)
        throw mongoError('TypeMismatch', `Path '${path}' contains an element of non-array type '${shown}'`)
      }
      return end === 1n ? current.slice(0, -1) : current.slice(1)
    },
  }
}

/** Builds the new array from the old one. */
type Extend = (current: readonly BsonValue[]) => BsonValue[]

const clauses = new Set(['$each', '$slice', '$sort', '$position'])

/** Parses the argument of `$push`: a value, or `{$each: […], $position, $sort, $slice}`, applied in that order. */
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
  const position = integerClause(argument, '$position')
  const slice = integerClause(argument, '$slice')
  const sort = argument.get('$sort')
  const comparator = sort === undefined ? undefined : parsePushSort(sort)
  return (current) => {
    const result = inserted(current, each, position)
    if (comparator) result.sort(comparator)
    if (slice === undefined) return result
    if (slice === 0) return []
    return slice > 0 ? result.slice(0, slice) : result.slice(slice)
  }
}

function inserted(
  current: readonly BsonValue[],
  each: readonly BsonValue[],
  position: number | undefined,
): BsonValue[] {
  if (position === undefined || position >= current.length) return [...current, ...each]
  const at = position >= 0 ? position : Math.max(0, current.length + position)
  return [...current.slice(0, at), ...each, ...current.slice(at)]
}

function integerClause(argument: BsonDocument, name: '$slice' | '$position'): number | undefined {
  const value = argument.get(name)
  if (value === undefined) return undefined
  const integer = integerValue(value)
  if (integer === undefined) {
    throw mongoError(
      'BadValue',
      `The value for ${name} must be an integer value but was given type: ${shownTypeOf(value)}`,
    )
  }
  // Beyond any array's length the exact number does not matter.
  const clamped = integer > 0x7fffffffn ? 0x7fffffffn : integer < -0x7fffffffn ? -0x7fffffffn : integer
  return Number(clamped)
}

type Comparator = (left: BsonValue, right: BsonValue) => number

function parsePushSort(sort: BsonValue): Comparator {
  if (!isNumber(sort) && !isDocument(sort)) {
    throw mongoError(
      'BadValue',
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    )
  }
  const parts = isDocument(sort)
    ? Array.from(sort, ([path, value]) => ({ path: sortPath(path), direction: directionOf(value) }))
    : [{ path: [], direction: directionOf(sort) }]
  if (parts.length === 0)
    throw mongoError('BadValue', 'The $sort pattern is empty when it should be a set of fields.')
  return (left, right) => {
    for (const { path, direction } of parts) {
      const result = compareValues(fieldOf(left, path), fieldOf(right, path))
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

function sortPath(path: string): string[] {
  if (path === '') throw mongoError('BadValue', 'The $sort field cannot be empty')
  const parts = path.split('.')
  if (parts.includes('')) {
    throw mongoError('BadValue', `The $sort field is a dotted field but has an empty part: ${path}`)
  }
  return parts
}

/** The value an element sorts by: null where the field is missing or the element is no document. */
function fieldOf(element: BsonValue, path: readonly string[]): BsonValue {
  let value: BsonValue | undefined = element
  for (const [depth, part] of path.entries()) {
    if (isDocument(value)) value = value.get(part)
    else value = depth > 0 && Array.isArray(value) && /^\d+$/.test(part) ? value[Number(part)] : undefined
  }
  return value ?? null
}

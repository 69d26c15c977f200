import { compareValues, type StringOrder } from './compare.ts'
import { mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { shownTypeOf } from './type-names.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from './values.ts'

/** Builds the new array from the old one. */
type Extend = (current: readonly BsonValue[]) => BsonValue[]

const clauses = new Set(['$each', '$slice', '$sort', '$position'])

/** Parses the argument of `$push`: a value, or `{$each: […], $position, $sort, $slice}`, applied in that order. */
export function parsePush(argument: BsonValue, order: StringOrder | undefined): Extend {
  if (!isDocument(argument) || !argument.has('$each')) {
    refuseStrayClause(argument)
    return (current) => [...current, argument]
  }
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
  const comparator = sort === undefined ? undefined : parsePushSort(sort, order)
  return (current) => {
    const result = inserted(current, each, position)
    if (comparator) result.sort(comparator)
    if (slice === undefined) return result
    if (slice === 0) return []
    return slice > 0 ? result.slice(0, slice) : result.slice(slice)
  }
}

/** MongoDB stores `{$slice: 2}` pushed without `$each` as a value; that is never meant, so this store refuses it. */
function refuseStrayClause(argument: BsonValue): void {
  if (!isDocument(argument)) return
  const first = argument.keys().next().value
  if (first === undefined || !clauses.has(first)) return
  throw mongoError(
    'DollarPrefixedFieldName',
    `The dollar ($) prefixed field '${first}' in $push needs an $each beside it`,
  )
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
  const integer = isNumber(value) ? integerValue(value) : undefined
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

function parsePushSort(sort: BsonValue, order: StringOrder | undefined): Comparator {
  if (isNumber(sort)) {
    const direction = directionOf(sort, 'The $sort element value must be either 1 or -1')
    return (left, right) => compareValues(left, right, order) * direction
  }
  if (!isDocument(sort)) {
    throw mongoError(
      'BadValue',
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    )
  }
  if (sort.size === 0)
    throw mongoError('BadValue', 'The $sort pattern is empty when it should be a set of fields.')
  const fields = Array.from(sort, ([path, value]) => ({
    path: sortPath(path),
    direction: directionOf(value, 'The $sort element value must be either 1 or -1'),
  }))
  return (left, right) => {
    for (const { path, direction } of fields) {
      const result = compareValues(fieldOf(left, path), fieldOf(right, path), order)
      if (result !== 0) return result * direction
    }
    return 0
  }
}

function directionOf(value: BsonValue, message: string): 1 | -1 {
  const integer = isNumber(value) ? integerValue(value) : undefined
  if (integer === 1n) return 1
  if (integer === -1n) return -1
  throw mongoError('BadValue', message)
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

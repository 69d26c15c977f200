import { equalValues, type StringOrder } from './compare.ts'
import { describeValue } from './describe-value.ts'
import type { FieldOperator, OperatorFactory } from './field-operator.ts'
import { compileFilter } from './filter.ts'
import { mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { parsePush } from './push-modifiers.ts'
import { shownTypeOf } from './type-names.ts'
import { shownId } from './value-operators.ts'
import { type BsonDocument, type BsonValue, documentOf, isDocument, isNumber } from './values.ts'

/** $push, with $each, $position, $sort and $slice. */
export const pushOperator: OperatorFactory = (_path, argument, order) => {
  const extend = parsePush(argument, order)
  return {
    onMissing: 'create',
    apply: (current, context) => {
      if (current === undefined) return extend([])
      if (Array.isArray(current)) return extend(current)
      throw mongoError(
        'BadValue',
        `The field '${context.path}' must be an array but is of type ${shownTypeOf(current)} in document ${shownId(context)}`,
      )
    },
  }
}

/** $addToSet, with $each: adds what no element equals. */
export const addToSetOperator: OperatorFactory = (_path, argument, order) => {
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
      const result = [...(current ?? [])]
      for (const value of additions) {
        if (!result.some((item) => equalValues(item, value, order))) result.push(value)
      }
      return result
    },
  }
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
export const pullOperator: OperatorFactory = (_path, argument, order) =>
  cullOperator('$pull', pullTest(argument, order))

/** $pullAll: removes the elements equal to any of the values. */
export const pullAllOperator: OperatorFactory = (_path, argument, order) => {
  if (!Array.isArray(argument)) {
    throw mongoError(
      'BadValue',
      `$pullAll requires an array argument but was given a ${shownTypeOf(argument)}`,
    )
  }
  return cullOperator('$pullAll', (element) => argument.some((value) => equalValues(element, value, order)))
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

/** A document of fields is a query on document elements; one of operators, or a regex, is put to the element itself. */
function pullTest(argument: BsonValue, order: StringOrder | undefined): ElementTest {
  const collation = order && { order }
  if (isDocument(argument)) {
    const first = argument.keys().next().value
    if (first === '$expr' || first === '$comment') {
      throw mongoError('QueryFeatureNotAllowed', `${first} is not allowed in this context`)
    }
    if (!first?.startsWith('$') || logicalOperators.has(first)) {
      const filter = compileFilter(argument, { collation })
      return (element, now) => isDocument(element) && filter.matches(element, now)
    }
  } else if (!isRegex(argument)) return (element) => equalValues(element, argument, order)
  const filter = compileFilter(documentOf(['', argument]), { collation })
  return (element, now) => filter.matches(wrapped(element), now)
}

function isRegex(value: BsonValue): boolean {
  return (
    value !== null && typeof value === 'object' && '_bsontype' in value && value._bsontype === 'BSONRegExp'
  )
}

function wrapped(element: BsonValue): BsonDocument {
  return documentOf(['', element])
}

/** $pop: 1 drops the last element, -1 the first. */
export const popOperator: OperatorFactory = (_path, argument) => {
  const end = isNumber(argument) ? integerValue(argument) : undefined
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

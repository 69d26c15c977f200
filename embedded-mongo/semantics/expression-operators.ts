import { Double } from 'bson'
import { subtractNumbers } from './arithmetic.ts'
import { compareValues } from './compare.ts'
import { isTruthy } from './is-truthy.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { countValue, toDouble, toLong } from './numbers.ts'
import { Summation } from './summation.ts'
import { shownTypeOf } from './type-names.ts'
import { type BsonDocument, type BsonValue, bsonUndefined, isNumber } from './values.ts'

/** What an expression sees: the document and the store's clock. */
interface ExpressionContext {
  readonly root: BsonDocument
  readonly now: Date
}

/** An expression ready to run; undefined is a missing value. */
export type Evaluate = (context: ExpressionContext) => BsonValue | undefined

type Operand = BsonValue | undefined

/** An operator on evaluated operands. `arity` undefined: any number. */
interface ExpressionOperator {
  readonly arity: number | undefined
  readonly apply: (operands: readonly Operand[]) => Operand
}

/** The operators this store evaluates, besides $literal, $and and $or. */
export const expressionOperators: ReadonlyMap<string, ExpressionOperator> = new Map<
  string,
  ExpressionOperator
>([
  ['$eq', comparison((order) => order === 0)],
  ['$ne', comparison((order) => order !== 0)],
  ['$gt', comparison((order) => order > 0)],
  ['$gte', comparison((order) => order >= 0)],
  ['$lt', comparison((order) => order < 0)],
  ['$lte', comparison((order) => order <= 0)],
  ['$not', { arity: 1, apply: ([operand]) => !isTruthy(operand) }],
  ['$add', { arity: undefined, apply: add }],
  ['$subtract', { arity: 2, apply: ([left, right]) => subtract(left, right) }],
  ['$ifNull', { arity: undefined, apply: firstPresent }],
  ['$size', { arity: 1, apply: ([operand]) => size(operand) }],
  ['$in', { arity: 2, apply: ([needle, haystack]) => contains(needle, haystack) }],
])

/** Expressions compare in full BSON order, without type bracketing; a missing value counts as "undefined", below null. */
function comparison(accepts: (order: number) => boolean): ExpressionOperator {
  return {
    arity: 2,
    apply: ([left, right]) => accepts(compareValues(present(left), present(right))),
  }
}

function present(value: Operand): BsonValue {
  return value === undefined ? bsonUndefined : value
}

function isNullish(value: Operand): boolean {
  return value === undefined || value === null || value === bsonUndefined
}

function firstPresent(operands: readonly Operand[]): Operand {
  return operands.find((operand) => !isNullish(operand)) ?? operands.at(-1)
}

function add(operands: readonly Operand[]): Operand {
  const sum = new Summation()
  let date: Date | undefined
  for (const operand of operands) {
    if (isNullish(operand)) return null
    if (operand instanceof Date) {
      if (date) throw new MongoError(16612, 'only one date allowed in an $add expression')
      date = operand
    } else if (isNumber(operand)) sum.add(operand)
    else
      throw mongoError(
        'TypeMismatch',
        `$add only supports numeric or date types, not ${shownTypeOf(operand)}`,
      )
  }
  if (date) return shiftDate(date, toDouble(sum.result()))
  return sum.result()
}

function subtract(left: Operand, right: Operand): Operand {
  if (isNullish(left) || isNullish(right)) return null
  if (isNumber(left) && isNumber(right)) {
    return subtractNumbers(left, right) ?? new Double(toDouble(left) - toDouble(right))
  }
  if (left instanceof Date && right instanceof Date) return toLong(BigInt(left.getTime() - right.getTime()))
  if (left instanceof Date && isNumber(right)) return shiftDate(left, -toDouble(right))
  throw mongoError('TypeMismatch', `can't $subtract ${shownTypeOf(right)} from ${shownTypeOf(left)}`)
}

function shiftDate(date: Date, milliseconds: number): Date {
  // Halves round away from zero, as the server's llround does.
  const shift = Math.sign(milliseconds) * Math.round(Math.abs(milliseconds))
  const shifted = new Date(date.getTime() + shift)
  if (Number.isNaN(shifted.getTime())) throw mongoError('Overflow', 'date overflow')
  return shifted
}

function size(operand: Operand): BsonValue {
  if (Array.isArray(operand)) return countValue(operand.length)
  throw new MongoError(
    17124,
    `The argument to $size must be an array, but was of type: ${shownTypeOf(operand)}`,
  )
}

function contains(needle: Operand, haystack: Operand): boolean {
  if (!Array.isArray(haystack)) {
    throw new MongoError(40081, `$in requires an array as a second argument, found: ${shownTypeOf(haystack)}`)
  }
  return haystack.some((item) => compareValues(item, present(needle)) === 0)
}

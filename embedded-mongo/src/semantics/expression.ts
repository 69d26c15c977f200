import { Double } from 'bson'
import { Summation, subtractNumbers } from './arithmetic.ts'
import { compareValues } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { splitFieldPath } from './field-paths.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { countValue, isZero, toDouble, toLong } from './numbers.ts'
import { type BsonDocument, type BsonValue, bsonUndefined, isDocument, isNumber } from './values.ts'

/** What an expression sees: the document and the store's clock. */
interface ExpressionContext {
  readonly root: BsonDocument
  readonly now: Date
}

/** An aggregation expression, ready to run; undefined is a missing value. */
export type CompiledExpression = (context: ExpressionContext) => BsonValue | undefined

/**
 * Compiles an aggregation expression: "$path", "$$ROOT", "$$CURRENT", "$$NOW", literals, documents and arrays of
 * expressions, the operators below, $literal, $and and $or.
 * Throws MongoError 168 for any other operator, 17276 for any other variable.
 */
export function compileExpression(value: BsonValue): CompiledExpression {
  if (typeof value === 'string' && value.startsWith('$')) return compileReference(value)
  if (Array.isArray(value)) return compileArray(value)
  if (!isDocument(value)) return () => value
  const first = value.keys().next().value
  return first?.startsWith('$') ? compileOperator(first, value) : compileDocument(value)
}

function compileReference(reference: string): CompiledExpression {
  if (!reference.startsWith('$$')) {
    const path = fieldPath(reference.slice(1))
    return ({ root }) => valueOnPath(root, path, 0)
  }
  const [variable = '', ...rest] = reference.slice(2).split('.')
  const path = rest.length > 0 ? fieldPath(rest.join('.')) : []
  if (variable === 'ROOT' || variable === 'CURRENT') return ({ root }) => valueOnPath(root, path, 0)
  if (variable !== 'NOW') throw new MongoError(17276, `Use of undefined variable: ${variable}`)
  return ({ now }) => (path.length === 0 ? now : undefined)
}

function fieldPath(path: string): string[] {
  if (path === '') throw new MongoError(16872, "'$' by itself is not a valid FieldPath")
  return splitFieldPath(path)
}

/** A path through an array collects what the documents in it hold; arrays in it, and indexes, mean nothing here. */
function valueOnPath(value: BsonValue, path: readonly string[], depth: number): BsonValue | undefined {
  const name = path[depth]
  if (name === undefined) return value
  if (isDocument(value)) {
    const inner = value.get(name)
    return inner === undefined ? undefined : valueOnPath(inner, path, depth + 1)
  }
  if (!Array.isArray(value)) return undefined
  return value
    .map((item) => (isDocument(item) ? valueOnPath(item, path, depth) : undefined))
    .filter((item) => item !== undefined)
}

function compileArray(items: readonly BsonValue[]): CompiledExpression {
  const compiled = items.map(compileExpression)
  return (context) => compiled.map((item) => item(context) ?? null)
}

function compileDocument(document: BsonDocument): CompiledExpression {
  const fields = Array.from(
    document,
    ([name, value]) => [checkedFieldName(name), compileExpression(value)] as const,
  )
  return (context) => {
    const result: BsonDocument = new Map()
    for (const [name, evaluate] of fields) {
      const value = evaluate(context)
      if (value !== undefined) result.set(name, value)
    }
    return result
  }
}

function checkedFieldName(name: string): string {
  if (name.startsWith('$'))
    throw new MongoError(16410, `FieldPath field names may not start with '$': ${name}`)
  if (name.includes('.')) throw new MongoError(16412, "FieldPath field names may not contain '.'.")
  return name
}

function compileOperator(name: string, document: BsonDocument): CompiledExpression {
  if (document.size !== 1) {
    throw new MongoError(
      15983,
      `an object representing an expression must have exactly one field: ${describeValue(document)}`,
    )
  }
  const argument = document.get(name) ?? null
  if (name === '$literal') return () => argument
  const operator = expressionOperators.get(name)
  if (!operator && name !== '$and' && name !== '$or') {
    throw new MongoError(168, `Unrecognized expression '${name}': this store has no such operator`)
  }
  const operands = (Array.isArray(argument) ? argument : [argument]).map(compileExpression)
  if (name === '$and') return (context) => operands.every((operand) => isTruthy(operand(context)))
  if (!operator) return (context) => operands.some((operand) => isTruthy(operand(context)))
  const count = operands.length
  if (operator.arity !== undefined && count !== operator.arity) {
    const takes = `Expression ${name} takes exactly ${operator.arity} arguments. ${count} were passed in.`
    throw new MongoError(16020, takes)
  }
  if (name === '$ifNull' && count < 2) {
    throw new MongoError(1257300, `$ifNull needs at least two arguments, had: ${count}`)
  }
  return (context) => operator.apply(operands.map((operand) => operand(context)))
}

type Operand = BsonValue | undefined

/** An operator on evaluated operands. `arity` undefined: any number. */
interface ExpressionOperator {
  readonly arity: number | undefined
  readonly apply: (operands: readonly Operand[]) => Operand
}

/** The operators this store evaluates, besides $literal, $and and $or. */
const expressionOperators = new Map<string, ExpressionOperator>([
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
  return { arity: 2, apply: ([left, right]) => accepts(compareValues(present(left), present(right))) }
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

/** MongoDB's truth: false for missing, null, undefined, false and zero; everything else, even "" and NaN, is true. */
export function isTruthy(value: BsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return false
  if (isNumber(value)) return !isZero(value)
  return value !== bsonUndefined
}

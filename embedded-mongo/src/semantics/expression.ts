import { compareValues } from './compare.ts'
import { describeValue } from './describe-value.ts'
import { splitFieldPath } from './field-paths.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { isZero } from './numbers.ts'
import { type BsonDocument, type BsonValue, bsonUndefined, isDocument, isNumber } from './values.ts'

/** What an expression sees: the document and the store's clock. */
interface ExpressionContext {
  readonly root: BsonDocument
  readonly now: Date
}

/** An aggregation expression, ready to run; undefined is a missing value. */
export type CompiledExpression = (context: ExpressionContext) => BsonValue | undefined

/**
 * Compiles an aggregation expression: "$path", "$$NOW", a constant, or a comparison.
 * Throws MongoError 168 for any other operator, 17276 for any other variable, 238 for documents and arrays of expressions.
 */
export function compileExpression(value: BsonValue): CompiledExpression {
  if (typeof value === 'string' && value.startsWith('$')) return compileReference(value)
  if (Array.isArray(value)) throw mongoError('NotImplemented', 'this store has no arrays of expressions')
  if (!isDocument(value)) return () => value
  const first = value.keys().next().value
  if (first?.startsWith('$')) return compileComparison(first, value)
  throw mongoError('NotImplemented', 'this store has no documents of expressions')
}

function compileReference(reference: string): CompiledExpression {
  if (!reference.startsWith('$$')) {
    const path = fieldPath(reference.slice(1))
    return ({ root }) => valueOnPath(root, path, 0)
  }
  if (reference === '$$NOW') return ({ now }) => now
  throw new MongoError(17276, `Use of undefined variable: ${reference.slice(2)}`)
}

function fieldPath(path: string): string[] {
  if (path === '') throw new MongoError(16872, "'$' by itself is not a valid FieldPath")
  return splitFieldPath(path)
}

/** Reads a path. Through an array it collects the values from its documents; nested arrays and indexes are ignored. */
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

function compileComparison(name: string, document: BsonDocument): CompiledExpression {
  if (document.size !== 1) {
    throw new MongoError(
      15983,
      `an object representing an expression must have exactly one field: ${describeValue(document)}`,
    )
  }
  const accepts = comparisons.get(name)
  if (!accepts)
    throw new MongoError(168, `Unrecognized expression '${name}': this store has no such operator`)
  const argument = document.get(name) ?? null
  const [left, right, ...surplus] = (Array.isArray(argument) ? argument : [argument]).map(compileExpression)
  if (left === undefined || right === undefined || surplus.length > 0) {
    const given = Array.isArray(argument) ? argument.length : 1
    throw new MongoError(16020, `Expression ${name} takes exactly 2 arguments. ${given} were passed in.`)
  }
  return (context) => accepts(compareValues(present(left(context)), present(right(context))))
}

/** Comparisons in full BSON order, without type bracketing; a missing value counts as "undefined", below null. */
const comparisons = new Map<string, (order: number) => boolean>([
  ['$gt', (order) => order > 0],
  ['$lt', (order) => order < 0],
  ['$lte', (order) => order <= 0],
])

function present(value: BsonValue | undefined): BsonValue {
  return value === undefined ? bsonUndefined : value
}

/** MongoDB's truth: false for missing, null, undefined, false and zero; everything else, even "" and NaN, is true. */
export function isTruthy(value: BsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return false
  if (isNumber(value)) return !isZero(value)
  return value !== bsonUndefined
}

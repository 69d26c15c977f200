import { describeValue } from './describe-value.ts'
import { type Evaluate, expressionOperators } from './expression-operators.ts'
import { isTruthy } from './is-truthy.ts'
import { MongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** An aggregation expression, ready to run; undefined is a missing value. */
export type CompiledExpression = Evaluate

/**
 * Compiles an aggregation expression: "$path", "$$ROOT", "$$CURRENT", "$$NOW", literals, documents and arrays of
 * expressions, and the operators of `expression-operators.ts` and $literal, $and, $or, $not.
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
  const parts = path.split('.')
  for (const part of parts) {
    if (part === '') throw new MongoError(15998, 'FieldPath field names may not be empty strings.')
    if (part.startsWith('$'))
      throw new MongoError(16410, `FieldPath field names may not start with '$': ${part}`)
  }
  return parts
}

/** A path through arrays collects what each document in them holds; array indexes mean nothing here. */
function valueOnPath(value: BsonValue, path: readonly string[], depth: number): BsonValue | undefined {
  const name = path[depth]
  if (name === undefined) return value
  if (isDocument(value)) {
    const inner = value.get(name)
    return inner === undefined ? undefined : valueOnPath(inner, path, depth + 1)
  }
  if (!Array.isArray(value)) return undefined
  return value.map((item) => valueOnPath(item, path, depth)).filter((item) => item !== undefined)
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
  const operands = (Array.isArray(argument) ? argument : [argument]).map(compileExpression)
  if (name === '$and') return (context) => operands.every((operand) => isTruthy(operand(context)))
  if (name === '$or') return (context) => operands.some((operand) => isTruthy(operand(context)))
  const operator = expressionOperators.get(name)
  if (!operator) throw new MongoError(168, `Unrecognized expression '${name}'`)
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

import { type Decimal128, Double } from 'bson'
import { Summation } from './arithmetic.ts'
import { compareValues } from './compare.ts'
import { describeValue } from './describe-value.ts'
import { type CompiledExpression, compileExpression } from './expression.ts'
import { compileFilter } from './filter.ts'
import { encodeValue } from './key-encoding.ts'
import { MongoError } from './mongo-error.ts'
import { countValue, exactDecimal, integerValue, roundToDecimal, toDouble } from './numbers.ts'
import { compileStageProjection } from './projection.ts'
import { parseSort, sortDocuments } from './sort.ts'
import {
  type BsonDocument,
  type BsonValue,
  bsonUndefined,
  documentOf,
  isDocument,
  isNumber,
} from './values.ts'

/** Runs compiled stages over documents; `now` is the store's clock. */
export type Pipeline = (documents: Iterable<BsonDocument>, now: Date) => BsonDocument[]

type Stage = (documents: readonly BsonDocument[], now: Date) => BsonDocument[]

const stageCompilers = new Map<string, (argument: BsonValue) => Stage>([
  ['$match', compileMatch],
  ['$sort', compileSortStage],
  ['$skip', compileSkip],
  ['$limit', compileLimit],
  ['$project', compileProject],
  ['$group', compileGroup],
  ['$count', compileCount],
])

/**
 * Compiles an aggregation pipeline of $match, $sort, $skip, $limit, $project, $group and $count.
 * Throws MongoError 40324 for any other stage (40573 for a change stream), 40323 for a malformed one, and what the stages throw.
 */
export function compilePipeline(stages: readonly BsonValue[]): Pipeline {
  const compiled = stages.map(compileStage)
  return (documents, now) => compiled.reduce((current, stage) => stage(current, now), [...documents])
}

function compileStage(stage: BsonValue): Stage {
  if (!isDocument(stage) || stage.size !== 1) {
    throw new MongoError(40323, 'A pipeline stage specification object must contain exactly one field.')
  }
  const [[name, argument] = ['', null]] = stage
  const compiler = stageCompilers.get(name)
  if (name === '$changeStream') {
    throw new MongoError(40573, 'The $changeStream stage is only supported on replica sets')
  }
  if (!compiler) {
    throw new MongoError(
      40324,
      `Unrecognized pipeline stage name: '${name}': this store has ${[...stageCompilers.keys()].join(', ')}`,
    )
  }
  return compiler(argument)
}

function compileMatch(argument: BsonValue): Stage {
  if (!isDocument(argument))
    throw new MongoError(15959, 'the match filter must be an expression in an object')
  const filter = compileFilter(argument)
  return (documents, now) => documents.filter((document) => filter.matches(document, now))
}

function compileSortStage(argument: BsonValue): Stage {
  if (!isDocument(argument)) throw new MongoError(15973, 'the $sort key specification must be an object')
  if (argument.size === 0) throw new MongoError(15976, '$sort stage must have at least one sort key')
  parseSort(argument)
  return (documents) => sortDocuments(documents, argument)
}

function compileSkip(argument: BsonValue): Stage {
  const count = stageCount(argument)
  if (count === undefined || count < 0) {
    throw new MongoError(
      5107200,
      `invalid argument to $skip stage: Expected a non-negative number in: $skip: ${describeValue(argument)}`,
    )
  }
  return (documents) => documents.slice(count)
}

function compileLimit(argument: BsonValue): Stage {
  const count = stageCount(argument)
  if (count === undefined || count < 0) {
    throw new MongoError(
      5107201,
      `invalid argument to $limit stage: Expected a non-negative number in: $limit: ${describeValue(argument)}`,
    )
  }
  if (count === 0) throw new MongoError(15958, 'the limit must be positive')
  return (documents) => documents.slice(0, count)
}

function stageCount(argument: BsonValue): number | undefined {
  const integer = isNumber(argument) ? integerValue(argument) : undefined
  return integer === undefined ? undefined : Number(integer)
}

function compileProject(argument: BsonValue): Stage {
  if (!isDocument(argument)) throw new MongoError(15969, '$project specification must be an object')
  const project = compileStageProjection(argument)
  return (documents, now) => documents.map((document) => project(document, now))
}

function compileCount(argument: BsonValue): Stage {
  if (typeof argument !== 'string' || argument === '') {
    throw new MongoError(40156, 'the count field must be a non-empty string')
  }
  if (argument.startsWith('$')) throw new MongoError(40158, 'the count field cannot be a $-prefixed path')
  if (argument.includes('\0')) throw new MongoError(40159, 'the count field cannot contain a null byte')
  if (argument.includes('.')) throw new MongoError(40160, "the count field cannot contain '.'")
  return (documents) => (documents.length === 0 ? [] : [documentOf([argument, countValue(documents.length)])])
}

interface GroupField {
  readonly name: string
  readonly make: () => Accumulator
  readonly expression: CompiledExpression
}

/**
 * Compiles a `$group` stage: `_id` is any expression, every other field one accumulator. Groups come out in the
 * order of their first document. Throws MongoError 15947, 15955, 15952, 40234, 40235, 40236 or 40238.
 */
function compileGroup(spec: BsonValue): (documents: Iterable<BsonDocument>, now: Date) => BsonDocument[] {
  if (!isDocument(spec)) throw new MongoError(15947, "a group's fields must be specified in an object")
  const id = spec.get('_id')
  if (id === undefined) throw new MongoError(15955, 'a group specification must include an _id')
  const idExpression = compileExpression(id)
  const fields = Array.from(spec)
    .filter(([name]) => name !== '_id')
    .map(([name, value]) => parseField(name, value))
  return (documents, now) => {
    const groups = new Map<string, { id: BsonValue; values: readonly Accumulator[] }>()
    for (const root of documents) {
      const groupId = idExpression({ root, now }) ?? null
      const key = encodeValue(groupId)
      const group = groups.get(key) ?? { id: groupId, values: fields.map(({ make }) => make()) }
      groups.set(key, group)
      for (const [index, { expression }] of fields.entries())
        group.values[index]?.add(expression({ root, now }))
    }
    return Array.from(groups.values(), (group) => {
      const result: BsonDocument = new Map([['_id', group.id]])
      for (const [index, { name }] of fields.entries())
        result.set(name, group.values[index]?.result() ?? null)
      return result
    })
  }
}

function parseField(name: string, value: BsonValue): GroupField {
  if (name.includes('.')) throw new MongoError(40235, `The field name '${name}' cannot contain '.'`)
  if (name.startsWith('$')) throw new MongoError(40236, `The field name '${name}' cannot be an operator name`)
  if (!isDocument(value) || value.size === 0) {
    throw new MongoError(40234, `The field '${name}' must be an accumulator object`)
  }
  if (value.size > 1) throw new MongoError(40238, `The field '${name}' must specify one accumulator`)
  const [[operator, argument] = ['', null]] = value
  const make = accumulators.get(operator)
  if (!make) throw new MongoError(15952, `unknown group operator '${operator}'`)
  return { name, make, expression: compileExpression(accumulated(operator, argument)) }
}

/** In `$group` an accumulator takes one expression; MongoDB refuses a list of them and opens a list of one. */
function accumulated(operator: string, argument: BsonValue): BsonValue {
  if (!Array.isArray(argument)) return argument
  if (argument.length !== 1) throw new MongoError(40237, `The ${operator} accumulator is a unary operator`)
  return argument[0] ?? null
}

/** Gathers one `$group` output field over the documents of one group; undefined is a missing value. */
interface Accumulator {
  add(value: BsonValue | undefined): void
  result(): BsonValue
}

/** The accumulators of `$group` this store has. */
const accumulators: ReadonlyMap<string, () => Accumulator> = new Map<string, () => Accumulator>([
  ['$sum', sum],
  ['$avg', average],
  ['$min', () => extreme((order) => order < 0)],
  ['$max', () => extreme((order) => order > 0)],
  ['$first', first],
  ['$last', last],
  ['$push', push],
  ['$addToSet', addToSet],
])

/** Adds numbers and ignores the rest. */
function sum(): Accumulator {
  const total = new Summation()
  return {
    add: (value) => {
      if (isNumber(value)) total.add(value)
    },
    result: () => total.result(),
  }
}

function average(): Accumulator {
  const total = new Summation()
  let count = 0
  return {
    add: (value) => {
      if (!isNumber(value)) return
      total.add(value)
      count++
    },
    result: () => {
      if (count === 0) return null
      const value = total.result()
      return value._bsontype === 'Decimal128'
        ? divideDecimal(value, count)
        : new Double(toDouble(value) / count)
    },
  }
}

function divideDecimal(total: Decimal128, count: number): Decimal128 {
  const exact = exactDecimal(total)
  if (exact.kind !== 'finite') return total
  // Forty more digits than the total has leave the rounding to 34 digits nothing to get wrong but exact ties.
  const scale = 40
  const scaled = exact.coefficient * 10n ** BigInt(scale)
  if (scaled % BigInt(count) !== 0n) {
    return roundToDecimal({
      kind: 'finite',
      coefficient: scaled / BigInt(count),
      exponent: exact.exponent - scale,
    })
  }
  let coefficient = scaled / BigInt(count)
  let exponent = exact.exponent - scale
  while (exponent < exact.exponent && coefficient % 10n === 0n) {
    coefficient /= 10n
    exponent++
  }
  return roundToDecimal({ kind: 'finite', coefficient, exponent })
}

function extreme(isBetter: (order: number) => boolean): Accumulator {
  let best: BsonValue = null
  return {
    add: (value) => {
      if (value === undefined || value === null || value === bsonUndefined) return
      if (best === null || isBetter(compareValues(value, best))) best = value
    },
    result: () => best,
  }
}

function first(): Accumulator {
  let found: { value: BsonValue } | undefined
  return {
    add: (value) => {
      found ??= { value: value ?? null }
    },
    result: () => found?.value ?? null,
  }
}

function last(): Accumulator {
  let found: BsonValue = null
  return {
    add: (value) => {
      found = value ?? null
    },
    result: () => found,
  }
}

function push(): Accumulator {
  const items: BsonValue[] = []
  return {
    add: (value) => {
      if (value !== undefined) items.push(value)
    },
    result: () => items,
  }
}

function addToSet(): Accumulator {
  const items = new Map<string, BsonValue>()
  return {
    add: (value) => {
      if (value === undefined) return
      const key = encodeValue(value)
      if (!items.has(key)) items.set(key, value)
    },
    result: () => [...items.values()],
  }
}

import { describeValue } from './describe-value.ts'
import { compileFilter } from './filter.ts'
import { compileGroup } from './group.ts'
import { MongoError } from './mongo-error.ts'
import { countValue, integerValue } from './numbers.ts'
import { compileStageProjection } from './projection.ts'
import { parseSort, sortDocuments } from './sort.ts'
import { type BsonDocument, type BsonValue, documentOf, isDocument, isNumber } from './values.ts'

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
 * Throws MongoError 40324 for any other stage, 40323 for a malformed one, and what the stages throw.
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
  if (!compiler) throw new MongoError(40324, `Unrecognized pipeline stage name: '${name}'`)
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

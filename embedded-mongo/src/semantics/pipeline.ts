import { Int32 } from 'bson'
import { compileExpression } from './expression.ts'
import { compileFilter } from './filter.ts'
import { encodeValue } from './key-encoding.ts'
import { MongoError } from './mongo-error.ts'
import { countValue } from './numbers.ts'
import { type BsonDocument, type BsonValue, documentOf, isDocument } from './values.ts'

/** Runs compiled stages over documents; `now` is the store's clock. */
export type Pipeline = (documents: Iterable<BsonDocument>, now: Date) => BsonDocument[]

type Stage = (documents: readonly BsonDocument[], now: Date) => BsonDocument[]

const stageCompilers = new Map<string, (argument: BsonValue) => Stage>([
  ['$match', compileMatch],
  ['$group', compileGroup],
])

/**
 * Compiles an aggregation pipeline of $match and $group.
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

/**
 * Compiles a `$group` stage: `_id` is any expression, every other field counts by `{$sum: 1}`. Groups come out in the order of
 * their first document. Throws MongoError 15947, 15955, 40235, 40236 or 15952.
 */
function compileGroup(spec: BsonValue): Stage {
  if (!isDocument(spec)) throw new MongoError(15947, "a group's fields must be specified in an object")
  const id = spec.get('_id')
  if (id === undefined) throw new MongoError(15955, 'a group specification must include an _id')
  const idExpression = compileExpression(id)
  for (const [name, value] of spec) if (name !== '_id') checkCounting(name, value)
  return (documents, now) => {
    const groups = new Map<string, { id: BsonValue; count: number }>()
    for (const root of documents) {
      const groupId = idExpression({ root, now }) ?? null
      const key = encodeValue(groupId)
      const group = groups.get(key) ?? { id: groupId, count: 0 }
      group.count += 1
      groups.set(key, group)
    }
    return Array.from(groups.values(), (group) => groupOf(spec, group.id, group.count))
  }
}

function checkCounting(name: string, value: BsonValue): void {
  if (name.includes('.')) throw new MongoError(40235, `The field name '${name}' cannot contain '.'`)
  if (name.startsWith('$')) throw new MongoError(40236, `The field name '${name}' cannot be an operator name`)
  const sum = isDocument(value) && value.size === 1 ? value.get('$sum') : undefined
  if (sum instanceof Int32 && sum.value === 1) return
  throw new MongoError(15952, `unknown group operator in '${name}': this store has {$sum: 1}`)
}

/** Returns the result of a `$group` for one group of `count` documents. */
export function groupOf(spec: BsonDocument, id: BsonValue, count: number): BsonDocument {
  const names = [...spec.keys()].filter((name) => name !== '_id')
  return documentOf(['_id', id], ...names.map((name) => [name, countValue(count)] as const))
}

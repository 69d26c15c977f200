import { changePath } from './change-path.ts'
import { compareCodePoints } from './compare.ts'
import { compileFilter } from './filter.ts'
import { conjuncts } from './filter-tree.ts'
import { mongoError } from './mongo-error.ts'
import { setOperator } from './value-operators.ts'
import type { BsonDocument, BsonValue } from './values.ts'

/**
 * The document an upsert starts from: the fields the filter pins with equalities, also inside `$and`, a
 * one-branch `$or`, a one-value `$in` and a one-value `$all`. `_id` comes first.
 * Throws MongoError 54 if a path is pinned twice or inside another, 28 if a path cannot be made.
 */
export function seedFromFilter(filter: BsonDocument): BsonDocument {
  const pinned = new Map<string, BsonValue>()
  for (const node of conjuncts(compileFilter(filter).tree)) {
    if (node.kind !== 'field') continue
    const { path, test } = node
    const value = test.op === 'eq' ? test.value : undefined
    const single =
      test.op === 'in' && test.regexes.length === 0 && test.values.length === 1 ? test.values[0] : value
    if (single === undefined) continue
    if (pinned.has(path)) {
      throw mongoError(
        'NotSingleValueField',
        `cannot infer query fields to set, path '${path}' is matched twice`,
      )
    }
    pinned.set(path, single)
  }
  const paths = [...pinned.keys()].sort(compareCodePoints)
  checkNested(paths)
  return buildSeed(paths, pinned)
}

function checkNested(paths: readonly string[]): void {
  for (const outer of paths) {
    const inner = paths.find((path) => path.startsWith(`${outer}.`))
    if (inner !== undefined) {
      throw mongoError(
        'NotSingleValueField',
        `cannot infer query fields to set, both paths '${outer}' and '${inner}' are matched`,
      )
    }
  }
}

function buildSeed(paths: readonly string[], pinned: ReadonlyMap<string, BsonValue>): BsonDocument {
  let seed: BsonDocument = new Map()
  const context = { now: new Date(0), document: seed }
  for (const path of paths) {
    const operator = setOperator(path, pinned.get(path) ?? null, undefined)
    seed = changePath(seed, path.split('.'), operator, { ...context, path })
  }
  return idFirst(seed)
}

/** Moves `_id` to the front, where MongoDB stores it. */
export function idFirst(document: BsonDocument): BsonDocument {
  const id = document.get('_id')
  if (id === undefined || document.keys().next().value === '_id') return document
  return new Map([['_id', id], ...document])
}

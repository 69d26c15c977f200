import { DocumentDraft } from './change-path.ts'
import { compareCodePoints } from './compare.ts'
import { conjuncts, type FilterNode } from './filter-tree.ts'
import { mongoError } from './mongo-error.ts'
import { idFirst } from './new-document.ts'
import { parseFilter } from './parse-filter.ts'
import { checkDepth } from './update-paths.ts'
import type { BsonDocument, BsonValue } from './values.ts'

/**
 * Returns the document an upsert starts from: the fields that the filter pins by equality, also inside
 * `$and`, a one-branch `$or`, a one-value `$in` and a one-value `$all`. A replacement takes only the `_id`.
 * Throws MongoError 54 if a path is pinned twice or inside another, 28 if a path cannot be created, 111 if a
 * replacement's filter pins a part of `_id`.
 */
export function seedFromFilter(filter: BsonDocument, isReplacement = false): BsonDocument {
  const pinned = new Map<string, BsonValue>()
  for (const node of conjuncts(parseFilter(filter))) {
    const value = pinnedValue(node)
    if (node.kind !== 'field' || value === undefined) continue
    if (isReplacement && !isWholeId(node.path)) continue
    if (pinned.has(node.path)) {
      throw mongoError(
        'NotSingleValueField',
        `cannot infer query fields to set, path '${node.path}' is matched twice`,
      )
    }
    pinned.set(node.path, value)
  }
  const draft = new DocumentDraft(new Map(), new Date(0), true)
  for (const [text, value] of [...pinned].sort(([left], [right]) => compareCodePoints(left, right))) {
    const path = text.split('.')
    checkNested(path, pinned)
    draft.change(path, { onMissing: 'create', apply: () => value })
  }
  return idFirst(draft.document)
}

function pinnedValue(node: FilterNode): BsonValue | undefined {
  if (node.kind !== 'field') return undefined
  const { test } = node
  if (test.op === 'eq') return test.value
  const isSingle = test.op === 'in' && test.regexes.length === 0 && test.values.length === 1
  return isSingle ? test.values[0] : undefined
}

function isWholeId(path: string): boolean {
  if (!path.startsWith('_id.')) return path === '_id'
  throw mongoError(
    'NotExactValueField',
    `field at '_id' must be exactly specified, field at sub-path '${path}' found`,
  )
}

function checkNested(path: readonly string[], pinned: ReadonlyMap<string, BsonValue>): void {
  checkDepth(path)
  for (let depth = 1; depth < path.length; depth += 1) {
    const outer = path.slice(0, depth).join('.')
    if (!pinned.has(outer)) continue
    throw mongoError(
      'NotSingleValueField',
      `cannot infer query fields to set, both paths '${outer}' and '${path.join('.')}' are matched`,
    )
  }
}

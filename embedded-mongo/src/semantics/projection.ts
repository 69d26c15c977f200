import type { CompiledFilter } from './filter.ts'
import { MongoError } from './mongo-error.ts'
import type { ProjectionBranch, ProjectionNode } from './parse-projection.ts'
import { parseProjection } from './parse-projection.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** Projects one document into a new one. */
export interface Project {
  (document: BsonDocument): BsonDocument
  /** Set if the result is just these fields of the document, unchanged. */
  fields?: ReadonlySet<string>
}

/**
 * Compiles a `find` projection: inclusion or exclusion, nested paths, $elemMatch and `path.$`. `filter` is the query, which
 * `path.$` needs; `now` is the store's clock for `$$NOW`.
 * Throws MongoError with MongoDB's codes (see `parse-projection.ts`); the result throws 51246 or 51247 when
 * `path.$` finds no element.
 */
export function compileProjection(
  projection: BsonDocument,
  filter?: CompiledFilter,
  now: Date = new Date(),
): Project {
  const { isInclusion, root, positional } = parseProjection(projection, filter)
  const project: Project = (document) => {
    const result = projected(document, root, isInclusion)
    // `$elemMatch` fields come after the stored fields, in the order of the projection.
    for (const [name, node] of root.children) {
      const stored = document.get(name)
      if (node.kind !== 'elemMatch' || !Array.isArray(stored)) continue
      const { arrayIndex } = node.filter.matchDetail(document, now)
      const found = arrayIndex === undefined ? undefined : stored[arrayIndex]
      if (found !== undefined) result.set(name, [found])
    }
    return positional && filter ? keepMatched(result, positional, document, filter, now) : result
  }
  const kinds = [...root.children].map(([, { kind }]) => kind)
  if (isInclusion && !positional && kinds.every((kind) => kind === 'include' || kind === 'exclude')) {
    const included = [...root.children].filter(([, { kind }]) => kind === 'include')
    project.fields = new Set(included.map(([name]) => name))
  }
  return project
}

function projected(document: BsonDocument, branch: ProjectionBranch, isInclusion: boolean): BsonDocument {
  const result: BsonDocument = new Map()
  for (const [name, value] of document) {
    const kept = projectedValue(value, branch.children.get(name), isInclusion)
    if (kept !== undefined) result.set(name, kept)
  }
  return result
}

function projectedValue(
  value: BsonValue,
  node: ProjectionNode | undefined,
  isInclusion: boolean,
): BsonValue | undefined {
  if (!node) return isInclusion ? undefined : value
  if (node.kind === 'include') return value
  return node.kind === 'branch' ? embedded(value, node, isInclusion) : undefined
}

function embedded(value: BsonValue, branch: ProjectionBranch, isInclusion: boolean): BsonValue | undefined {
  if (isDocument(value)) return projected(value, branch, isInclusion)
  if (Array.isArray(value)) {
    return value.map((item) => embedded(item, branch, isInclusion)).filter((item) => item !== undefined)
  }
  return isInclusion ? undefined : value
}

/** Cuts the first array on the path of `path.$` down to the element the query matched. */
function keepMatched(
  projected: BsonDocument,
  path: readonly string[],
  document: BsonDocument,
  filter: CompiledFilter,
  now: Date,
): BsonDocument {
  const { matched, arrayIndex } = filter.matchDetail(document, now)
  if (!matched) {
    throw new MongoError(51246, "positional operator '.$' couldn't find a matching element in the array")
  }
  return arrayIndex === undefined ? projected : keepElement(projected, path, 0, arrayIndex)
}

function keepElement(
  document: BsonDocument,
  path: readonly string[],
  depth: number,
  index: number,
): BsonDocument {
  const name = path[depth]
  const value = name === undefined ? undefined : document.get(name)
  if (name === undefined || value === undefined) return document
  if (Array.isArray(value)) {
    const element = value[index]
    if (element === undefined) throw new MongoError(51247, "positional operator '.$' element mismatch")
    return new Map(document).set(name, [element])
  }
  return isDocument(value)
    ? new Map(document).set(name, keepElement(value, path, depth + 1, index))
    : document
}

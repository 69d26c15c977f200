import type { CompiledFilter } from './filter.ts'
import { MongoError } from './mongo-error.ts'
import type { ProjectionBranch, ProjectionNode } from './parse-projection.ts'
import { parseProjection } from './parse-projection.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** Projects one document into a new one. */
export interface Project {
  (document: BsonDocument): BsonDocument
  /** If the result is just these fields of the document, as they are. */
  fields?: ReadonlySet<string>
}

/**
 * Compiles a `find` projection: inclusion or exclusion, nested paths, $slice, $elemMatch, `path.$` and computed
 * fields. `filter` is the query, which `path.$` needs; `now` is the store's clock for `$$NOW`.
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
    const projected = new Projector(document, now, isInclusion).project(document, root)
    return positional && filter ? keepMatched(projected, positional, document, filter, now) : projected
  }
  const kinds = [...root.children].map(([, { kind }]) => kind)
  if (isInclusion && !positional && kinds.every((kind) => kind === 'include' || kind === 'exclude')) {
    const included = [...root.children].filter(([, { kind }]) => kind === 'include')
    project.fields = new Set(included.map(([name]) => name))
  }
  return project
}

class Projector {
  readonly #root: BsonDocument
  readonly #now: Date
  readonly #isInclusion: boolean

  constructor(root: BsonDocument, now: Date, isInclusion: boolean) {
    this.#root = root
    this.#now = now
    this.#isInclusion = isInclusion
  }

  project(document: BsonDocument, branch: ProjectionBranch): BsonDocument {
    const result: BsonDocument = new Map()
    for (const [name, value] of document) {
      const projected = this.#field(value, branch.children.get(name))
      if (projected !== undefined) result.set(name, projected)
    }
    // Computed fields come after the stored ones, in the order of the projection.
    for (const [name, node] of branch.children) {
      const added = this.#computed(document.get(name), node)
      if (added !== undefined) result.set(name, added)
    }
    return result
  }

  #field(value: BsonValue, node: ProjectionNode | undefined): BsonValue | undefined {
    if (!node) return this.#isInclusion ? undefined : value
    switch (node.kind) {
      case 'include':
        return value
      case 'slice':
        return Array.isArray(value) ? sliced(value, node.skip, node.limit) : value
      case 'branch':
        return this.#embedded(value, node)
      default:
        return undefined
    }
  }

  #embedded(value: BsonValue, branch: ProjectionBranch): BsonValue | undefined {
    if (isDocument(value)) return this.project(value, branch)
    if (Array.isArray(value)) {
      return value.map((item) => this.#embedded(item, branch)).filter((item) => item !== undefined)
    }
    if (!this.#isInclusion) return value
    return computes(branch) ? this.project(new Map(), branch) : undefined
  }

  #computed(stored: BsonValue | undefined, node: ProjectionNode): BsonValue | undefined {
    if (node.kind === 'computed') return node.expression({ root: this.#root, now: this.#now })
    if (node.kind === 'branch' && stored === undefined && computes(node)) return this.project(new Map(), node)
    if (node.kind !== 'elemMatch' || !Array.isArray(stored)) return undefined
    const { arrayIndex } = node.filter.matchDetail(this.#root, this.#now)
    const found = arrayIndex === undefined ? undefined : stored[arrayIndex]
    return found === undefined ? undefined : [found]
  }
}

function computes(branch: ProjectionBranch): boolean {
  for (const node of branch.children.values()) {
    if (node.kind === 'computed' || (node.kind === 'branch' && computes(node))) return true
  }
  return false
}

function sliced(array: readonly BsonValue[], skip: number | undefined, limit: number): BsonValue[] {
  if (skip === undefined) return limit >= 0 ? array.slice(0, limit) : array.slice(limit)
  const start = skip >= 0 ? skip : Math.max(0, array.length + skip)
  return array.slice(start, start + limit)
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

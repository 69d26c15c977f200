import { describeValue, shownTypeOf } from './describe-value.ts'
import { isTruthy } from './expression.ts'
import { dbRefFields, splitFieldPath } from './field-paths.ts'
import { type CompiledFilter, compileFilter } from './filter.ts'
import { pathsOf } from './filter-tree.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, documentOf, isDocument, isNumber } from './values.ts'

/**
 * Parses a projection (manual, "Project Fields to Return"). Errors carry MongoDB's codes: 31253 and 31254 for mixing
 * inclusion with exclusion, 31249 and 31250 for colliding paths, 168 for a computed field.
 * `filter` is the query a positional `path.$` refers to.
 */
export function parseProjection(
  projection: BsonDocument,
  filter: CompiledFilter | undefined,
): ParsedProjection {
  const parser = new ProjectionParser(filter)
  for (const [name, value] of projection) parser.add(name, value)
  return parser.finish()
}

class ProjectionParser {
  readonly root: ProjectionBranch = { kind: 'branch', children: new Map() }
  readonly #filter: CompiledFilter | undefined
  #isInclusion: boolean | undefined
  #positional: string[] | undefined
  #hasElemMatch = false
  #idNamed = false
  #idIncluded = false

  constructor(filter: CompiledFilter | undefined) {
    this.#filter = filter
  }

  /** `prefix` is the path of `parent`, with a dot behind it. */
  add(name: string, value: BsonValue, parent = this.root, prefix = ''): void {
    if (parent === this.root && (name === '_id' || name.startsWith('_id.'))) this.#idNamed = true
    if (isDocument(value)) this.#addDocument(name, value, parent, prefix)
    else if (typeof value !== 'boolean' && !isNumber(value)) throw computed(name, value)
    else if (isTruthy(value) && (name.endsWith('.$') || name.includes('.$.') || name === '$'))
      this.#includePositional(name, prefix + name)
    else this.#addField(name, isTruthy(value), parent)
  }

  /** Chooses inclusion or exclusion if that is still open, as MongoDB does: `$elemMatch` alone drops the other fields. */
  finish(): ParsedProjection {
    const isInclusion = this.#isInclusion ?? (this.#hasElemMatch || this.#idIncluded)
    if (isInclusion && !this.#idNamed) this.root.children.set('_id', { kind: 'include' })
    if (!isInclusion && this.#idIncluded) this.root.children.delete('_id')
    return { isInclusion, root: this.root, positional: this.#positional }
  }

  #addField(name: string, isInclusion: boolean, parent: ProjectionBranch): void {
    addAtPath(parent, name, { kind: isInclusion ? 'include' : 'exclude' })
    if (parent !== this.root || name !== '_id') this.#settle(isInclusion, name)
    else if (isInclusion) this.#idIncluded = true
  }

  #settle(isInclusion: boolean, name: string): void {
    if (this.#isInclusion === !isInclusion) {
      throw isInclusion
        ? new MongoError(31253, `Cannot do inclusion on field ${name} in exclusion projection`)
        : new MongoError(31254, `Cannot do exclusion on field ${name} in inclusion projection`)
    }
    this.#isInclusion = isInclusion
  }

  #includePositional(name: string, full: string): void {
    if (this.#positional)
      throw new MongoError(31276, 'Cannot specify more than one positional projection per query.')
    if (this.#hasElemMatch) throw new MongoError(31256, 'Cannot specify positional operator and $elemMatch.')
    if (!full.endsWith('.$'))
      throw new MongoError(
        31394,
        'As of 4.4, it is illegal to specify positional operator in the middle of a path.',
      )
    const path = full.slice(0, -2)
    if (!this.#filter) throw new MongoError(51050, 'Projections with a positional operator require a matcher')
    const [root] = path.split('.')
    if (!pathsOf(this.#filter.tree).some((asked) => asked.split('.')[0] === root)) {
      throw new MongoError(31277, `Positional projection '${full}' does not match the query document.`)
    }
    addAtPath(this.root, path, { kind: 'include' })
    this.#settle(true, name)
    this.#positional = path.split('.')
  }

  #addDocument(name: string, value: BsonDocument, parent: ProjectionBranch, prefix: string): void {
    const first = value.keys().next().value
    if (first === undefined) {
      throw new MongoError(
        51270,
        `An empty sub-projection is not a valid value. Found empty object at path ${name}`,
      )
    }
    if (first === '$elemMatch' && value.size === 1) this.#addElemMatch(name, value, parent)
    else if (first.startsWith('$')) throw computed(name, value)
    else {
      const branch = branchAt(parent, name)
      for (const [innerName, inner] of value) this.add(innerName, inner, branch, `${prefix}${name}.`)
    }
  }

  #addElemMatch(name: string, value: BsonDocument, parent: ProjectionBranch): void {
    const condition = value.get('$elemMatch') ?? null
    if (!isDocument(condition)) {
      const shown = shownTypeOf(condition)
      throw new MongoError(31274, `elemMatch: Invalid argument, object required, but got ${shown}`)
    }
    if (this.#positional) throw new MongoError(31255, 'Cannot specify positional operator and $elemMatch.')
    if (parent !== this.root || name.includes('.')) {
      throw new MongoError(31275, 'Cannot use $elemMatch projection on a nested field.')
    }
    addAtPath(parent, name, { kind: 'elemMatch', filter: compileFilter(documentOf([name, value])) })
    this.#hasElemMatch = true
  }
}

function computed(name: string, value: BsonValue): MongoError {
  const shown = `${name}: ${describeValue(value)}`
  return mongoError(
    'InvalidPipelineOperator',
    `Unrecognized expression ${shown}: this store computes no fields`,
  )
}

function addAtPath(parent: ProjectionBranch, path: string, node: ProjectionNode): void {
  const parts = checkedParts(path)
  const last = parts.pop() ?? ''
  const branch = parts.length > 0 ? branchAt(parent, parts.join('.'), path) : parent
  if (branch.children.has(last)) throw new MongoError(31250, `Path collision at ${path}`)
  branch.children.set(last, node)
}

function branchAt(parent: ProjectionBranch, path: string, shownPath = path): ProjectionBranch {
  let branch = parent
  for (const part of checkedParts(path)) {
    const existing = branch.children.get(part)
    if (existing && existing.kind !== 'branch') {
      throw new MongoError(
        31249,
        `Path collision at ${shownPath} remaining portion ${shownPath.split('.').at(-1)}`,
      )
    }
    const next: ProjectionBranch = existing ?? { kind: 'branch', children: new Map() }
    branch.children.set(part, next)
    branch = next
  }
  return branch
}

function checkedParts(path: string): string[] {
  if (path === '') throw new MongoError(40352, 'FieldPath cannot be constructed with empty string')
  if (path.endsWith('.')) throw new MongoError(40353, "FieldPath must not end with a '.'.")
  return splitFieldPath(path, dbRefFields)
}

/** What a projection does with one field. */
export type ProjectionNode =
  | { readonly kind: 'include' }
  | { readonly kind: 'exclude' }
  | { readonly kind: 'elemMatch'; readonly filter: CompiledFilter }
  | ProjectionBranch

/** Projections of the fields of an embedded document. */
export interface ProjectionBranch {
  readonly kind: 'branch'
  readonly children: Map<string, ProjectionNode>
}

/** A parsed projection. `positional` is the path of a `path.$`. */
interface ParsedProjection {
  readonly isInclusion: boolean
  readonly root: ProjectionBranch
  readonly positional: readonly string[] | undefined
}

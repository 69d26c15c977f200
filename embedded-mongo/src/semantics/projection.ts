import { describeValue } from './describe-value.ts'
import { isTruthy } from './expression.ts'
import { dbRefFields, splitFieldPath } from './field-paths.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from './values.ts'

/** Projects one document into a new one. */
export interface Project {
  (document: BsonDocument): BsonDocument
  /** Set if the result is just these fields of the document, unchanged. */
  fields?: ReadonlySet<string>
}

/** What a projection does with the fields of a document: a branch holds projections of an embedded document's fields. */
type Branch = Map<string, 'include' | 'exclude' | Branch>

/**
 * Compiles a `find` projection: inclusion or exclusion, by name or dotted path (manual, "Project Fields to Return").
 * Throws MongoError with MongoDB's codes: 31253 and 31254 for mixing inclusion with exclusion, 31249 and 31250 for colliding
 * paths, 168 for a computed field; 238 for the positional `path.$` and for projections of embedded documents.
 */
export function compileProjection(projection: BsonDocument): Project {
  const root: Branch = new Map()
  let isInclusion: boolean | undefined
  for (const [path, value] of projection) {
    const included = isIncluded(path, value)
    addAtPath(root, path, included ? 'include' : 'exclude')
    if (path === '_id') continue
    if (isInclusion === !included) throw mixed(path, included)
    isInclusion = included
  }
  isInclusion ??= root.get('_id') === 'include'
  const isIdNamed = root.has('_id')
  if (isInclusion && !isIdNamed) root.set('_id', 'include')
  if (!isInclusion && root.get('_id') === 'include') root.delete('_id')
  const project: Project = (document) => projected(document, root, isInclusion)
  const kinds = [...root.values()]
  if (isInclusion && kinds.every((kind) => typeof kind === 'string')) {
    project.fields = new Set([...root].filter(([, kind]) => kind === 'include').map(([name]) => name))
  }
  return project
}

function isIncluded(path: string, value: BsonValue): boolean {
  if (isDocument(value) && !value.keys().next().value?.startsWith('$')) {
    throw mongoError('NotImplemented', `a document as projection is not supported by this store: ${path}`)
  }
  if (typeof value !== 'boolean' && !isNumber(value)) {
    const shown = `${path}: ${describeValue(value)}`
    throw mongoError(
      'InvalidPipelineOperator',
      `Unrecognized expression ${shown}: this store computes no fields`,
    )
  }
  if (path.split('.').includes('$')) {
    throw mongoError('NotImplemented', `the positional projection is not supported by this store: ${path}`)
  }
  return isTruthy(value)
}

function mixed(path: string, included: boolean): MongoError {
  return included
    ? new MongoError(31253, `Cannot do inclusion on field ${path} in exclusion projection`)
    : new MongoError(31254, `Cannot do exclusion on field ${path} in inclusion projection`)
}

function addAtPath(root: Branch, path: string, kind: 'include' | 'exclude'): void {
  const parts = checkedParts(path)
  const last = parts.pop() ?? ''
  let branch = root
  for (const part of parts) {
    const existing = branch.get(part)
    if (typeof existing === 'string') {
      throw new MongoError(31249, `Path collision at ${path} remaining portion ${last}`)
    }
    const next: Branch = existing ?? new Map()
    branch.set(part, next)
    branch = next
  }
  if (branch.has(last)) throw new MongoError(31250, `Path collision at ${path}`)
  branch.set(last, kind)
}

function checkedParts(path: string): string[] {
  if (path === '') throw new MongoError(40352, 'FieldPath cannot be constructed with empty string')
  if (path.endsWith('.')) throw new MongoError(40353, "FieldPath must not end with a '.'.")
  return splitFieldPath(path, dbRefFields)
}

function projected(document: BsonDocument, branch: Branch, isInclusion: boolean): BsonDocument {
  const result: BsonDocument = new Map()
  for (const [name, value] of document) {
    const kind = branch.get(name)
    const kept =
      typeof kind === 'object' ? embedded(value, kind, isInclusion) : plain(value, kind, isInclusion)
    if (kept !== undefined) result.set(name, kept)
  }
  return result
}

function plain(value: BsonValue, kind: 'include' | 'exclude' | undefined, isInclusion: boolean) {
  return (kind === undefined ? !isInclusion : kind === 'include') ? value : undefined
}

function embedded(value: BsonValue, branch: Branch, isInclusion: boolean): BsonValue | undefined {
  if (isDocument(value)) return projected(value, branch, isInclusion)
  if (Array.isArray(value)) {
    return value.map((item) => embedded(item, branch, isInclusion)).filter((item) => item !== undefined)
  }
  return isInclusion ? undefined : value
}

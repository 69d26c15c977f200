import { MAX_DEPTH } from '../bson-reader.ts'
import { compareCodePoints } from './compare.ts'
import { isIndexComponent } from './field-paths.ts'
import { mongoError } from './mongo-error.ts'

/** Anything that changes a path, or reserves it. */
export interface PathHolder {
  readonly path: readonly string[]
}

/** Splits and checks an update path. Throws MongoError 56 (empty part), 2 (misplaced `$`) or 15 (too deep to be stored). */
export function parseUpdatePath(text: string): string[] {
  if (text === '') throw mongoError('EmptyFieldName', 'An empty update path is not valid.')
  const path = text.split('.')
  if (path.includes('')) {
    throw mongoError(
      'EmptyFieldName',
      `The update path '${text}' contains an empty field name, which is not allowed.`,
    )
  }
  const [first = ''] = path
  if (first === '$') {
    throw mongoError(
      'BadValue',
      `Cannot have positional (i.e. '$') element in the first position in path '${text}'`,
    )
  }
  if (isArrayFilterPart(first)) {
    throw mongoError(
      'BadValue',
      `Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '${text}'`,
    )
  }
  if (path.filter((part) => part === '$').length > 1) {
    throw mongoError('BadValue', `Too many positional (i.e. '$') elements found in path '${text}'`)
  }
  checkDepth(path)
  return path
}

/** Throws MongoError 15 for a path that no document of this store can have. */
export function checkDepth(path: readonly string[]): void {
  if (path.length > MAX_DEPTH) throw mongoError('Overflow', `a path has more than ${MAX_DEPTH} parts`)
}

/** True for `$[identifier]`. */
export function isArrayFilterPart(part: string): boolean {
  return part.startsWith('$[') && part.endsWith(']')
}

/** True for a path that names array elements by the query or by arrayFilters rather than by index. */
export function isDynamicPath(path: readonly string[]): boolean {
  return path.some((part) => part === '$' || isArrayFilterPart(part))
}

/** Compares paths in the order in which MongoDB 5.0 and later apply them: by name, numeric names by number. */
function comparePaths(left: readonly string[], right: readonly string[]): number {
  const shared = Math.min(left.length, right.length)
  for (let depth = 0; depth < shared; depth += 1) {
    const result = compareParts(left[depth] ?? '', right[depth] ?? '')
    if (result !== 0) return result
  }
  return left.length - right.length
}

function compareParts(left: string, right: string): number {
  if (left === right) return 0
  if (!isIndexComponent(left) || !isIndexComponent(right)) return compareCodePoints(left, right)
  return left.length - right.length || compareCodePoints(left, right)
}

/**
 * Sorts changes by path. Throws MongoError 40 if two of them touch the same field or one a field inside the
 * other's, or if one path goes through an array by position and another by filter.
 */
export function inPathOrder<T extends PathHolder>(changes: readonly T[]): T[] {
  const tree: PathTree = new Map()
  for (const { path } of changes) reserve(tree, path)
  return [...changes].sort((left, right) => comparePaths(left.path, right.path))
}

/** The paths of an update as a tree: each name maps to the branch below it, or to undefined where a path ends. */
interface PathTree extends Map<string, PathTree | undefined> {}

function reserve(tree: PathTree, path: readonly string[]): void {
  let branch = tree
  for (const [depth, part] of path.entries()) {
    const sibling = branch.keys().next().value
    if (sibling !== undefined && isArrayFilterPart(sibling) !== isArrayFilterPart(part)) {
      throw conflict(path, path.slice(0, depth))
    }
    const isTaken = branch.has(part)
    const next = branch.get(part)
    if (isTaken && (next === undefined || depth === path.length - 1))
      throw conflict(path, path.slice(0, depth + 1))
    if (depth === path.length - 1) {
      branch.set(part, undefined)
      return
    }
    const below = next ?? new Map()
    if (!isTaken) branch.set(part, below)
    branch = below
  }
}

function conflict(path: readonly string[], at: readonly string[]): Error {
  return mongoError(
    'ConflictingUpdateOperators',
    `Updating the path '${path.join('.')}' would create a conflict at '${at.join('.')}'`,
  )
}

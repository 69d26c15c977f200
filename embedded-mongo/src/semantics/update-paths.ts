import { compareCodePoints } from './compare.ts'
import { dbRefFields, isIndexComponent } from './field-paths.ts'
import { mongoError } from './mongo-error.ts'

/** Anything that changes a path, or reserves it. */
export interface PathHolder {
  readonly path: readonly string[]
}

/** Splits and checks an update path. Throws MongoError 56 (empty part), 52 ($-prefixed field) or 2 (misplaced `$`). */
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
  if (first.startsWith('$') && !dbRefFields.has(first)) {
    throw mongoError(
      'DollarPrefixedFieldName',
      `The dollar ($) prefixed field '${first}' in '${text}' is not valid for storage.`,
    )
  }
  if (path.filter((part) => part === '$').length > 1) {
    throw mongoError('BadValue', `Too many positional (i.e. '$') elements found in path '${text}'`)
  }
  return path
}

/** True for `$[]` and `$[identifier]`. */
export function isArrayFilterPart(part: string): boolean {
  return part.startsWith('$[') && part.endsWith(']')
}

/** True for a path that names array elements by the query or by arrayFilters rather than by index. */
export function isDynamicPath(path: readonly string[]): boolean {
  return path.some((part) => part === '$' || isArrayFilterPart(part))
}

/** Field order of an update: by name, numeric names by number, as MongoDB 5.0 and later apply them. */
function comparePaths(left: readonly string[], right: readonly string[]): number {
  for (const [depth, part] of left.entries()) {
    const other = right[depth]
    if (other === undefined) return 1
    const result = compareParts(part, other)
    if (result !== 0) return result
  }
  return left.length - right.length
}

function compareParts(left: string, right: string): number {
  if (!isIndexComponent(left) || !isIndexComponent(right)) return compareCodePoints(left, right)
  return left.length - right.length || compareCodePoints(left, right)
}

/**
 * Sorts changes by path. Throws MongoError 40 if two of them touch the same field or one a field inside the
 * other's, or if one path goes through an array by position and another by filter.
 */
export function inPathOrder<T extends PathHolder>(changes: readonly T[]): T[] {
  const sorted = [...changes].sort((left, right) => comparePaths(left.path, right.path))
  for (const [index, { path }] of sorted.entries()) {
    const previous = index > 0 ? sorted[index - 1]?.path : undefined
    if (previous?.every((part, depth) => part === path[depth])) throw conflict(path, previous)
  }
  checkArrayFilterSiblings(sorted)
  return sorted
}

function checkArrayFilterSiblings(changes: readonly PathHolder[]): void {
  const filtered = new Map<string, boolean>()
  for (const { path } of changes) {
    for (const [depth, part] of path.entries()) {
      const parent = JSON.stringify(path.slice(0, depth))
      const isFiltered = isArrayFilterPart(part)
      if ((filtered.get(parent) ?? isFiltered) !== isFiltered) throw conflict(path, path.slice(0, depth))
      filtered.set(parent, isFiltered)
    }
  }
}

function conflict(path: readonly string[], at: readonly string[]): Error {
  return mongoError(
    'ConflictingUpdateOperators',
    `Updating the path '${path.join('.')}' would create a conflict at '${at.join('.')}'`,
  )
}

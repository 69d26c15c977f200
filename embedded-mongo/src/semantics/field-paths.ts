import { MongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/**
 * Called with each value a dotted path yields (undefined: the field is missing) and the index of the outermost
 * array element it was found in, or -1. Returning true stops the walk.
 */
export type PathVisitor = (value: BsonValue | undefined, arrayIndex: number) => boolean

/** Whether a path ending at an array yields its elements and then the array, or the array alone. */
export type LeafArrays = 'elements-and-whole' | 'whole'

/** Names that begin with `$` but are fields nevertheless: those of a DBRef. */
export const dbRefFields: ReadonlySet<string> = new Set(['$ref', '$id', '$db'])

/**
 * Splits the path of an expression, a sort or a projection. Throws MongoError 15998 for an empty part, 16410 for one
 * that begins with `$` and is not in `allowed`.
 */
export function splitFieldPath(path: string, allowed: ReadonlySet<string> = new Set()): string[] {
  const parts = path.split('.')
  for (const part of parts) {
    if (part === '') throw new MongoError(15998, 'FieldPath field names may not be empty strings.')
    if (part.startsWith('$') && !allowed.has(part)) {
      throw new MongoError(16410, `FieldPath field names may not start with '$': ${part}`)
    }
  }
  return parts
}

const digits = /^[0-9]+$/

/** True for a path component that may be an array index: decimal digits only. */
export function isIndexComponent(component: string): boolean {
  // The first character rules out most names, which matters where many are sorted.
  return component.charCodeAt(0) <= 0x39 && digits.test(component)
}

/**
 * Visits the values of a query path in a document, as MongoDB's matcher walks it: arrays met on the way are searched
 * through their documents (one level), and a numeric component is also an array index. A path that stops short
 * yields one missing value; an array without documents yields nothing. Returns true if the visitor stopped the walk.
 */
export function walkPath(
  document: BsonDocument,
  path: readonly string[],
  leaf: LeafArrays,
  visit: PathVisitor,
): boolean {
  return walkDocument(document, { path, leaf, visit }, 0, -1)
}

interface Walk {
  readonly path: readonly string[]
  readonly leaf: LeafArrays
  readonly visit: PathVisitor
}

function walkDocument(document: BsonDocument, walk: Walk, start: number, outerIndex: number): boolean {
  let current = document
  for (let depth = start; depth < walk.path.length; depth++) {
    const value = current.get(walk.path[depth] ?? '')
    if (Array.isArray(value)) return walkArray(value, walk, depth + 1, outerIndex)
    if (depth === walk.path.length - 1) return walk.visit(value, outerIndex)
    if (!isDocument(value)) return walk.visit(undefined, outerIndex)
    current = value
  }
  return false
}

function walkArray(array: BsonValue[], walk: Walk, depth: number, outerIndex: number): boolean {
  const component = walk.path[depth] ?? ''
  // MongoDB only checks whether any text of the path is left, so a path that ends in a dot ends at the array.
  const isLast = component === '' && depth >= walk.path.length - 1
  if (isLast) return visitLeafArray(array, walk, outerIndex)
  const position = isIndexComponent(component) ? component : undefined
  for (const [index, element] of array.entries()) {
    const here = outerIndex === -1 ? index : outerIndex
    if (isDocument(element) && walkDocument(element, walk, depth, here)) return true
    if (position === String(index) && walkElement(element, walk, depth + 1, outerIndex)) return true
  }
  return false
}

/** Enters one array element named by its index; a final element is yielded whole, even if it is an array. */
function walkElement(element: BsonValue, walk: Walk, depth: number, outerIndex: number): boolean {
  if (depth === walk.path.length) return walk.visit(element, outerIndex)
  if (isDocument(element)) return walkDocument(element, walk, depth, outerIndex)
  return Array.isArray(element) && walkArray(element, walk, depth, outerIndex)
}

function visitLeafArray(array: BsonValue[], walk: Walk, outerIndex: number): boolean {
  if (walk.leaf === 'elements-and-whole') {
    for (const [index, element] of array.entries()) {
      if (walk.visit(element, outerIndex === -1 ? index : outerIndex)) return true
    }
  }
  return walk.visit(array, outerIndex)
}

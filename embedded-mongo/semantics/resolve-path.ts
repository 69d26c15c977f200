import type { ElementFilter } from './array-filters.ts'
import { describeValue } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { isArrayFilterPart } from './update-paths.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** What `$`, `$[]` and `$[identifier]` stand for in one document. */
export interface PositionalContext {
  readonly now: Date
  /** The element the query matched. */
  readonly arrayIndex: number | undefined
  readonly filters: ReadonlyMap<string, ElementFilter>
}

/**
 * Turns a path with `$`, `$[]` or `$[identifier]` into the paths of the elements it means in a document.
 * Throws MongoError 2 if the query matched no element, or if `$[…]` meets a missing field or no array.
 */
export function resolvePath(
  document: BsonDocument,
  path: readonly string[],
  context: PositionalContext,
): string[][] {
  const resolved: string[][] = []
  collect(document, path, [], context, resolved)
  return resolved
}

function collect(
  value: BsonValue | undefined,
  path: readonly string[],
  done: readonly string[],
  context: PositionalContext,
  resolved: string[][],
): void {
  const part = path[done.length]
  if (part === undefined) {
    resolved.push([...done])
  } else if (isArrayFilterPart(part)) {
    for (const index of matchingElements(value, part, done, context)) {
      const element = Array.isArray(value) ? value[index] : undefined
      collect(element, path, [...done, String(index)], context, resolved)
    }
  } else {
    const name = part === '$' ? positionalIndex(context) : part
    collect(childOf(value, name), path, [...done, name], context, resolved)
  }
}

function positionalIndex({ arrayIndex }: PositionalContext): string {
  if (arrayIndex !== undefined) return String(arrayIndex)
  throw mongoError('BadValue', 'The positional operator did not find the match needed from the query.')
}

function childOf(value: BsonValue | undefined, name: string): BsonValue | undefined {
  if (isDocument(value)) return value.get(name)
  return Array.isArray(value) && /^(?:0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined
}

function matchingElements(
  value: BsonValue | undefined,
  part: string,
  done: readonly string[],
  context: PositionalContext,
): number[] {
  const shownPath = done.join('.')
  if (value === undefined) {
    throw mongoError(
      'BadValue',
      `The path '${shownPath}' must exist in the document in order to apply array updates.`,
    )
  }
  if (!Array.isArray(value)) {
    const shown = describeValue(value)
    throw mongoError(
      'BadValue',
      `Cannot apply array updates to non-array element ${done.at(-1) ?? ''}: ${shown}`,
    )
  }
  const filter = part === '$[]' ? undefined : context.filters.get(part.slice(2, -1))
  const indexes = Array.from(value.keys())
  return filter ? indexes.filter((index) => filter(value[index] ?? null, context.now)) : indexes
}

import { childOf } from './change-path.ts'
import { describeValue } from './describe-value.ts'
import { type CompiledFilter, compileFilter } from './filter.ts'
import { leavesOf, pathsOf } from './filter-tree.ts'
import { mongoError } from './mongo-error.ts'
import { isArrayFilterPart, type PathHolder } from './update-paths.ts'
import { type BsonDocument, type BsonValue, documentOf } from './values.ts'

/** Tests an array element for `$[identifier]`. */
export type ElementFilter = (element: BsonValue, now: Date) => boolean

const identifierForm = /^[a-z][a-zA-Z0-9]*$/

/**
 * Compiles `arrayFilters` by identifier and checks that the update and the filters use the same identifiers.
 * Throws MongoError 9 for an unused, repeated or nameless filter, 2 for a bad or unknown identifier.
 */
export function compileArrayFilters(
  arrayFilters: readonly BsonDocument[],
  changes: readonly PathHolder[],
): ReadonlyMap<string, ElementFilter> {
  const filters = new Map<string, ElementFilter>()
  for (const document of arrayFilters) {
    const compiled = compileFilter(document)
    const identifier = identifierOf(compiled, document)
    if (filters.has(identifier)) {
      throw mongoError(
        'FailedToParse',
        `Found multiple array filters with the same top-level field name ${identifier}`,
      )
    }
    filters.set(identifier, (element, now) => compiled.matches(documentOf([identifier, element]), now))
  }
  checkUse(filters, changes)
  return filters
}

function identifierOf(filter: CompiledFilter, document: BsonDocument): string {
  if (leavesOf(filter.tree).some(({ kind }) => kind === 'expression')) {
    throw mongoError('QueryFeatureNotAllowed', '$expr is not allowed in this context')
  }
  const [name, other] = new Set(pathsOf(filter.tree).map((path) => path.split('.')[0] ?? ''))
  if (name === undefined) {
    throw mongoError(
      'FailedToParse',
      `Cannot use an expression without a top-level field name in arrayFilters: ${describeValue(document)}`,
    )
  }
  if (other !== undefined) {
    throw mongoError(
      'FailedToParse',
      `Error parsing array filter :: caused by :: Expected a single top-level field name, found '${name}' and '${other}'`,
    )
  }
  if (!identifierForm.test(name)) {
    throw mongoError(
      'BadValue',
      'Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string ' +
        `beginning with a lowercase letter, found '${name}'`,
    )
  }
  return name
}

function checkUse(filters: ReadonlyMap<string, ElementFilter>, changes: readonly PathHolder[]): void {
  const used = new Set<string>()
  for (const { path } of changes) {
    for (const part of path) {
      if (!isArrayFilterPart(part)) continue
      const identifier = part.slice(2, -1)
      if (!filters.has(identifier)) {
        throw mongoError(
          'BadValue',
          `No array filter found for identifier '${identifier}' in path '${path.join('.')}'`,
        )
      }
      used.add(identifier)
    }
  }
  for (const identifier of filters.keys()) {
    if (!used.has(identifier)) {
      throw mongoError(
        'FailedToParse',
        `The array filter for identifier '${identifier}' was not used in the update`,
      )
    }
  }
}

/** What `$` and `$[identifier]` stand for in one document. */
export interface PositionalContext {
  readonly now: Date
  /** The index of the array element that the query matched. */
  readonly arrayIndex: number | undefined
  readonly filters: ReadonlyMap<string, ElementFilter>
}

/**
 * Resolves a path with `$` or `$[identifier]` into the paths of the elements it selects in a document.
 * Throws MongoError 2 if the query matched no element, or if `$[…]` meets a missing field or a non-array.
 */
export function resolvePath(
  value: BsonValue | undefined,
  path: readonly string[],
  context: PositionalContext,
  done: readonly string[] = [],
): (readonly string[])[] {
  const part = path[done.length]
  if (part === undefined) return [done]
  const names = isArrayFilterPart(part)
    ? matchingElements(value, part, done, context).map(String)
    : [part === '$' ? positionalIndex(context) : part]
  return names.flatMap((name) => resolvePath(childOf(value, name), path, context, [...done, name]))
}

function positionalIndex({ arrayIndex }: PositionalContext): string {
  if (arrayIndex !== undefined) return String(arrayIndex)
  throw mongoError('BadValue', 'The positional operator did not find the match needed from the query.')
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
  const filter = context.filters.get(part.slice(2, -1))
  return Array.from(value.keys()).filter((index) => filter?.(value[index] ?? null, context.now))
}

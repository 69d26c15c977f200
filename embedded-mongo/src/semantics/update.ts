import { compileArrayFilters, type PositionalContext, resolvePath } from './array-filters.ts'
import { addToSetOperator, pullOperator, pushOperator } from './array-operators.ts'
import { DocumentDraft, type OperatorFactory } from './change-path.ts'
import { equalValues, identicalValues } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { idFirst } from './new-document.ts'
import { inPathOrder, isDynamicPath, parseUpdatePath } from './update-paths.ts'
import {
  currentDateOperator,
  incOperator,
  maxOperator,
  setOperator,
  unsetOperator,
} from './value-operators.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** Options of an update. */
export interface UpdateOptions {
  readonly arrayFilters?: readonly BsonDocument[] | undefined
}

/** What one application of an update may depend on besides the document. */
interface ApplyContext {
  /** The store's clock. */
  readonly now: Date
  /** The index that `matchDetail` reported for this document: the array element `$` stands for. */
  readonly arrayIndex?: number | undefined
  /** Whether an upsert is creating the document: then `$setOnInsert` applies, and `_id` may still be given. */
  readonly insert: boolean
}

/** An update compiled once and applied to many documents. */
export interface CompiledUpdate {
  /** Whether the update replaces whole documents instead of applying operators. */
  readonly replacement: boolean
  /**
   * Returns the updated document and whether it differs; `doc` is the input itself if not. Never mutates its
   * input. Throws MongoError: 66 if `_id` would change, and per operator 2, 14, 28, 34 or 40.
   */
  apply(document: BsonDocument, context: ApplyContext): { doc: BsonDocument; changed: boolean }
}

/**
 * Compiles an update document: operators (the allow-list is `operators` below) or a replacement.
 * Throws MongoError 238 for a pipeline, 9 and 2 for malformed updates and arrayFilters, 40 for conflicting paths,
 * 52 for a $-prefixed field in a replacement, 56 for an empty path.
 */
export function compileUpdate(
  update: BsonDocument | readonly BsonValue[],
  options: UpdateOptions = {},
): CompiledUpdate {
  if (!(update instanceof Map)) {
    throw mongoError('NotImplemented', 'Updates by aggregation pipeline are not supported by this store')
  }
  const first = update.keys().next().value
  return first?.startsWith('$') ? compileOperators(update, options) : compileReplacement(update, options)
}

function compileReplacement(replacement: BsonDocument, options: UpdateOptions): CompiledUpdate {
  if (options.arrayFilters !== undefined) {
    throw mongoError('FailedToParse', 'arrayFilters may not be specified for replacement-style updates')
  }
  for (const name of replacement.keys()) {
    if (!name.startsWith('$')) continue
    throw mongoError(
      'DollarPrefixedFieldName',
      `The dollar ($) prefixed field '${name}' in '${name}' is not allowed in the context of an update's ` +
        'replacement document. Consider using an aggregation pipeline with $replaceWith.',
    )
  }
  return {
    replacement: true,
    apply: (document) => {
      const id = document.get('_id')
      const given = replacement.get('_id')
      if (id !== undefined && given !== undefined && !equalValues(id, given)) {
        throw mongoError(
          'ImmutableField',
          `After applying the update, the (immutable) field '_id' was found to have been altered to _id: ${describeValue(given)}`,
        )
      }
      const doc =
        id === undefined || given !== undefined
          ? idFirst(replacement)
          : new Map([['_id', id], ...replacement])
      const changed = !identicalValues(document, doc)
      return { doc: changed ? doc : document, changed }
    },
  }
}

function compileOperators(update: BsonDocument, options: UpdateOptions): CompiledUpdate {
  const changes = parseOperatorUpdate(update)
  const filters = compileArrayFilters(options.arrayFilters ?? [], changes)
  const isDynamic = changes.some(({ path }) => isDynamicPath(path))
  return {
    replacement: false,
    apply: (document, context) => {
      const due = changes.filter(({ onInsertOnly }) => context.insert || !onInsertOnly)
      const positional = { now: context.now, arrayIndex: context.arrayIndex, filters }
      const resolved = isDynamic ? resolveChanges(document, due, positional) : due
      const draft = new DocumentDraft(document, context.now, context.insert)
      for (const { path, apply } of resolved) apply(draft, path)
      const doc = draft.document
      checkId(document, doc)
      return { doc: context.insert ? idFirst(doc) : doc, changed: doc !== document }
    },
  }
}

/** Positions can bring paths together that were apart in the update, so conflicts are checked again. */
function resolveChanges(
  document: BsonDocument,
  changes: readonly PathUpdate[],
  positional: PositionalContext,
): PathUpdate[] {
  const resolved = changes.flatMap((change): PathUpdate[] => {
    if (!isDynamicPath(change.path)) return [change]
    return resolvePath(document, change.path, positional).map((path) => ({ ...change, path }))
  })
  return inPathOrder(resolved)
}

function checkId(before: BsonDocument, after: BsonDocument): void {
  const id = before.get('_id')
  if (id === undefined) return
  const next = after.get('_id')
  if (next !== undefined && identicalValues(id, next)) return
  throw mongoError(
    'ImmutableField',
    "Performing an update on the path '_id' would modify the immutable field '_id'",
  )
}

/** One change of an update, at a path that may still hold `$` or `$[identifier]`. */
interface PathUpdate {
  readonly path: readonly string[]
  readonly onInsertOnly: boolean
  readonly apply: (draft: DocumentDraft, path: readonly string[]) => void
}

const operators = new Map<string, OperatorFactory>([
  ['$set', setOperator],
  ['$setOnInsert', setOperator],
  ['$unset', unsetOperator],
  ['$inc', incOperator],
  ['$max', maxOperator],
  ['$currentDate', currentDateOperator],
  ['$push', pushOperator],
  ['$addToSet', addToSetOperator],
  ['$pull', pullOperator],
])

/**
 * Parses an update made of operators into changes in path order. Throws MongoError 9 for an unknown operator,
 * 40 for conflicting paths, and what the operators throw for their arguments.
 */
function parseOperatorUpdate(update: BsonDocument): PathUpdate[] {
  const changes: PathUpdate[] = []
  for (const [name, argument] of update) {
    const factory = operators.get(name)
    if (!factory) {
      throw mongoError(
        'FailedToParse',
        `Unknown modifier: ${name}. Expected a valid update modifier or pipeline-style update specified as an array`,
      )
    }
    if (!isDocument(argument)) {
      throw mongoError(
        'FailedToParse',
        `Modifiers operate on fields but we found type ${shownTypeOf(argument)} instead. For example: ` +
          `{$mod: {<field>: ...}} not {${name}: ${describeValue(argument)}}`,
      )
    }
    changes.push(...parseFields(name, argument, factory))
  }
  return inPathOrder(changes)
}

function parseFields(name: string, fields: BsonDocument, factory: OperatorFactory): PathUpdate[] {
  return Array.from(fields, ([text, argument]): PathUpdate => {
    const path = parseUpdatePath(text)
    const operator = factory(text, argument)
    return {
      path,
      onInsertOnly: name === '$setOnInsert',
      apply: (draft, resolved) => draft.change(resolved, operator),
    }
  })
}

import {
  addToSetOperator,
  popOperator,
  pullAllOperator,
  pullOperator,
  pushOperator,
} from './array-operators.ts'
import type { FieldOperator, OperatorFactory, UpdateContext } from './change-path.ts'
import { changePath } from './change-path.ts'
import type { StringOrder } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { inPathOrder, isDynamicPath, parseUpdatePath } from './update-paths.ts'
import {
  bitOperator,
  currentDateOperator,
  incOperator,
  maxOperator,
  minOperator,
  mulOperator,
  setOperator,
  shownId,
  unsetOperator,
} from './value-operators.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** One change of an update, at a path that may still hold `$`, `$[]` or `$[identifier]`. */
export type PathUpdate =
  | {
      readonly kind: 'field'
      readonly path: readonly string[]
      readonly operator: FieldOperator
      readonly onInsertOnly: boolean
    }
  | { readonly kind: 'rename'; readonly path: readonly string[]; readonly rename: Rename }
  /** The source of a rename, which no other operator may touch. */
  | { readonly kind: 'renamed-away'; readonly path: readonly string[] }

const operators = new Map<string, OperatorFactory>([
  ['$set', setOperator],
  ['$setOnInsert', setOperator],
  ['$unset', unsetOperator],
  ['$inc', incOperator],
  ['$mul', mulOperator],
  ['$min', minOperator],
  ['$max', maxOperator],
  ['$currentDate', currentDateOperator],
  ['$bit', bitOperator],
  ['$push', pushOperator],
  ['$addToSet', addToSetOperator],
  ['$pull', pullOperator],
  ['$pullAll', pullAllOperator],
  ['$pop', popOperator],
])

/**
 * Parses an update made of operators into changes in path order. Throws MongoError 9 for an unknown operator,
 * 40 for conflicting paths, and what the operators throw for their arguments.
 */
export function parseOperatorUpdate(update: BsonDocument, order: StringOrder | undefined): PathUpdate[] {
  const changes: PathUpdate[] = []
  for (const [name, argument] of update) {
    const factory = operators.get(name)
    if (!factory && name !== '$rename') {
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
    changes.push(...(factory ? parseFields(name, argument, factory, order) : parseRenames(argument)))
  }
  return inPathOrder(changes)
}

function parseFields(
  name: string,
  fields: BsonDocument,
  factory: OperatorFactory,
  order: StringOrder | undefined,
): PathUpdate[] {
  return Array.from(fields, ([text, argument]): PathUpdate => {
    const path = parseUpdatePath(text)
    const operator = factory(text, argument, order)
    return { kind: 'field', path, operator, onInsertOnly: name === '$setOnInsert' }
  })
}

function parseRenames(fields: BsonDocument): PathUpdate[] {
  return Array.from(fields).flatMap(([source, target]): PathUpdate[] => {
    const rename = parseRename(source, target)
    return [
      { kind: 'renamed-away', path: rename.from },
      { kind: 'rename', path: rename.to, rename },
    ]
  })
}

/** A `$rename` of one field. */
interface Rename {
  readonly from: readonly string[]
  readonly to: readonly string[]
}

/** Parses one `$rename` entry. Throws MongoError 2 if the paths overlap, are positional, or the target is no string. */
function parseRename(source: string, target: BsonValue): Rename {
  const shown = `${source}: ${describeValue(target)}`
  if (typeof target !== 'string')
    throw mongoError('BadValue', `The 'to' field for $rename must be a string: ${shown}`)
  if (target.includes('\0'))
    throw mongoError('BadValue', "The 'to' field for $rename cannot contain an embedded null byte")
  const from = parseUpdatePath(source)
  const to = parseUpdatePath(target)
  if (source === target)
    throw mongoError('BadValue', `The source and target field for $rename must differ: ${shown}`)
  if (isPrefix(from, to) || isPrefix(to, from)) {
    throw mongoError(
      'BadValue',
      `The source and target field for $rename must not be on the same path: ${shown}`,
    )
  }
  if (isDynamicPath(from))
    throw mongoError('BadValue', `The source field for $rename may not be dynamic: ${source}`)
  if (isDynamicPath(to))
    throw mongoError('BadValue', `The destination field for $rename may not be dynamic: ${target}`)
  return { from, to }
}

function isPrefix(left: readonly string[], right: readonly string[]): boolean {
  return left.every((part, depth) => part === right[depth])
}

/** Moves a field; a missing source changes nothing. Throws MongoError 2 if either path runs through an array, or 28. */
export function renameField(document: BsonDocument, rename: Rename, context: UpdateContext): BsonDocument {
  const value = follow(document, rename.from, 'source', context)
  if (value === undefined) return document
  follow(document, rename.to, 'destination', context)
  const moved = changePath(document, rename.to, setOperator('', value, undefined), context)
  return changePath(moved, rename.from, unsetOperator('', null, undefined), context)
}

function follow(
  document: BsonDocument,
  path: readonly string[],
  end: 'source' | 'destination',
  context: UpdateContext,
): BsonValue | undefined {
  let value: BsonValue | undefined = document
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value)) {
      throw mongoError(
        'BadValue',
        `The ${end} field cannot be an array element, '${path.join('.')}' in doc with ${shownId(context)} ` +
          `has an array field called '${path[depth - 1] ?? ''}'`,
      )
    }
    if (!isDocument(value)) return undefined
    value = value.get(name)
  }
  return value
}

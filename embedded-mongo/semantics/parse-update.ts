import {
  addToSetOperator,
  popOperator,
  pullAllOperator,
  pullOperator,
  pushOperator,
} from './array-operators.ts'
import type { StringOrder } from './compare.ts'
import { describeValue } from './describe-value.ts'
import type { FieldOperator, OperatorFactory } from './field-operator.ts'
import { mongoError } from './mongo-error.ts'
import { parseRename, type Rename } from './rename-field.ts'
import { shownTypeOf } from './type-names.ts'
import { inPathOrder, parseUpdatePath } from './update-paths.ts'
import {
  bitOperator,
  currentDateOperator,
  incOperator,
  maxOperator,
  minOperator,
  mulOperator,
  setOperator,
  unsetOperator,
} from './value-operators.ts'
import { type BsonDocument, isDocument } from './values.ts'

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

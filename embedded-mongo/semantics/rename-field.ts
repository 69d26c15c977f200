import { changePath } from './change-path.ts'
import { describeValue } from './describe-value.ts'
import type { UpdateContext } from './field-operator.ts'
import { mongoError } from './mongo-error.ts'
import { isDynamicPath, parseUpdatePath } from './update-paths.ts'
import { setOperator, shownId, unsetOperator } from './value-operators.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** A `$rename` of one field. */
export interface Rename {
  readonly from: readonly string[]
  readonly to: readonly string[]
}

/** Parses one `$rename` entry. Throws MongoError 2 if the paths overlap, are positional, or the target is no string. */
export function parseRename(source: string, target: BsonValue): Rename {
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

import { ObjectId, Timestamp } from 'bson'
import { typeNameOf } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import {
  type BsonDocument,
  type BsonValue,
  bsonUndefined,
  isDocument,
  isRegex,
  JavaScriptCode,
} from './values.ts'

/**
 * Returns the document with `_id` first, generated if missing. Throws MongoError 53 for an `_id` of a type no id may
 * have, 52 for an `_id` with a field that begins with `$`
 */
export function withId(document: BsonDocument): BsonDocument {
  const id = document.get('_id')
  if (id === undefined) return new Map<string, BsonValue>([['_id', new ObjectId()], ...document])
  if (!mayBeId(id)) throw mongoError('InvalidIdField', `The '_id' value cannot be of type ${typeNameOf(id)}`)
  const [dollarField] = dollarFieldsIn(id)
  if (dollarField !== undefined) {
    throw mongoError(
      'DollarPrefixedFieldName',
      `_id fields may not contain '$'-prefixed fields: ${dollarField} is not valid for storage.`,
    )
  }
  return idFirst(document)
}

function mayBeId(id: BsonValue): boolean {
  return !Array.isArray(id) && id !== bsonUndefined && !isRegex(id)
}

/** Checks the `_id` of an insert, for which MongoDB has another code. Throws MongoError 2 for a wrong type. */
export function checkInsertedId(id: BsonValue | undefined): void {
  if (id !== undefined && !mayBeId(id))
    throw mongoError('BadValue', `can't use ${Array.isArray(id) ? 'an' : 'a'} ${typeNameOf(id)} for _id`)
}

/** Returns the fields inside a value that begin with `$` and are not part of a DBRef. */
function dollarFieldsIn(value: BsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(dollarFieldsIn)
  if (value instanceof JavaScriptCode) return value.scope ? dollarFieldsIn(value.scope) : []
  if (!isDocument(value)) return []
  const fields = [...value]
  const isReference =
    typeof value.get('$ref') === 'string' && fields[0]?.[0] === '$ref' && fields[1]?.[0] === '$id'
  const hasDatabase = fields[2]?.[0] === '$db' && typeof fields[2][1] === 'string'
  return fields
    .slice(isReference ? (hasDatabase ? 3 : 2) : 0)
    .flatMap(([name, inner]) => (name.startsWith('$') ? name : dollarFieldsIn(inner)))
}

/** Moves `_id` to the front, where MongoDB stores it. */
export function idFirst(document: BsonDocument): BsonDocument {
  const id = document.get('_id')
  if (id === undefined || document.keys().next().value === '_id') return document
  return new Map([['_id', id], ...document])
}

/** Fills in the server's time for each empty timestamp in a top-level field other than `_id`. */
export function stamped(document: BsonDocument, now: Date): BsonDocument {
  const isEmpty = (value: BsonValue, name: string): boolean =>
    value instanceof Timestamp && value.isZero() && name !== '_id'
  const filled = (value: BsonValue, name: string) => (isEmpty(value, name) ? serverTimestamp(now) : value)
  for (const [name, value] of document) {
    if (isEmpty(value, name)) return new Map(Array.from(document, ([key, old]) => [key, filled(old, key)]))
  }
  return document
}

let latest = { second: 0, count: 0 }

/** Returns a timestamp of now that is unique in this process. */
function serverTimestamp(now: Date): Timestamp {
  const second = Math.max(latest.second, Math.floor(now.getTime() / 1000))
  latest = { second, count: second === latest.second ? latest.count + 1 : 1 }
  return new Timestamp({ t: latest.second, i: latest.count })
}

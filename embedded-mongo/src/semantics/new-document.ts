import { ObjectId } from 'bson'
import { typeNameOf } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument, isRegex } from './values.ts'

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
  return !Array.isArray(id) && !isRegex(id)
}

/** Checks the `_id` of an insert, for which MongoDB has another code. Throws MongoError 2 for a wrong type. */
export function checkInsertedId(id: BsonValue | undefined): void {
  if (id !== undefined && !mayBeId(id))
    throw mongoError('BadValue', `can't use ${Array.isArray(id) ? 'an' : 'a'} ${typeNameOf(id)} for _id`)
}

/** Returns the fields inside a value that begin with `$` and are not part of a DBRef. */
function dollarFieldsIn(value: BsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(dollarFieldsIn)
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

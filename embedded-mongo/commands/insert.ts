import { Int32, ObjectId } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import { typeNameOf } from '../semantics/type-names.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { type Command, namespaceOf } from './command.ts'
import { checkBatchSize, runStatements } from './write-statements.ts'

export const insert: Command = {
  fields: new Set(['insert', 'documents', 'ordered', 'bypassDocumentValidation']),
  run(call) {
    const namespace = namespaceOf(call, 'insert')
    // There are no validators to bypass.
    call.fields.flag('bypassDocumentValidation')
    const documents = call.fields.required('documents', call.fields.documents('documents'))
    checkBatchSize(documents)
    const collection = call.engine.ensureCollection(namespace)
    let inserted = 0
    const writeErrors = runStatements(documents, call, (document) => {
      collection.insert(withId(document))
      inserted += 1
    })
    return new Map<string, BsonValue>([['n', new Int32(inserted)], ...writeErrors])
  },
}

/**
 * The document with `_id` first, made up if missing.
 * @throws MongoError 53 for an `_id` of a type no id may have
 */
export function withId(document: BsonDocument): BsonDocument {
  const id = document.get('_id')
  if (id === undefined) return new Map<string, BsonValue>([['_id', new ObjectId()], ...document])
  if (
    Array.isArray(id) ||
    (typeof id === 'object' && id !== null && '_bsontype' in id && BAD_ID.has(id._bsontype))
  ) {
    throw new MongoError(53, `The '_id' value cannot be of type ${typeNameOf(id)}`)
  }
  const [first] = document.keys()
  return first === '_id' ? document : new Map([['_id', id], ...document])
}

const BAD_ID = new Set(['BSONRegExp', 'Undefined'])

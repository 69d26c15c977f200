import { encodeValue } from '../semantics/key-encoding.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { countValue } from '../semantics/numbers.ts'
import type { BsonValue } from '../semantics/values.ts'
import { valuesAtPath } from '../semantics/walk-path.ts'
import { type Command, namespaceOf } from './command.ts'
import { readSelection, selectRecords } from './selection.ts'

export const count: Command = {
  fields: new Set(['count', 'query', 'limit', 'skip', 'hint', 'collation']),
  run(call) {
    const collection = call.engine.collection(namespaceOf(call, 'count'))
    // A negative limit means the same as its absolute value.
    const limit = Math.abs(call.fields.integer('limit') ?? 0)
    const skip = call.fields.count('skip') ?? 0
    const selection = readSelection(call.fields, 'query', collection, { limit, skip })
    let found = 0
    if (collection !== undefined) for (const _ of selectRecords(collection, selection, call)) found += 1
    return new Map([['n', countValue(found)]])
  },
}

export const distinct: Command = {
  fields: new Set(['distinct', 'key', 'query', 'collation', 'hint']),
  run(call) {
    const collection = call.engine.collection(namespaceOf(call, 'distinct'))
    const key = call.fields.required('key', call.fields.text('key'))
    if (call.fields.has('collation')) {
      throw new MongoError(72, "'distinct.collation' is not supported by the embedded store")
    }
    const selection = readSelection(call.fields, 'query', collection, {})
    const seen = new Map<string, BsonValue>()
    if (collection !== undefined) {
      for (const record of selectRecords(collection, selection, call)) {
        for (const value of valuesAtPath(record.peek(), key)) {
          const encoded = encodeValue(value)
          if (!seen.has(encoded)) seen.set(encoded, value)
        }
      }
    }
    return new Map([['values', [...seen.values()]]])
  },
}

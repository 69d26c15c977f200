import type { Collection } from '../engine/collection.ts'
import type { StoreRecord } from '../engine/store-record.ts'
import { compileCollation } from '../semantics/collation.ts'
import type { CompiledFilter } from '../semantics/filter.ts'
import { compileUpdate, seedFromFilter } from '../semantics/update.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { CommandFields } from './command-fields.ts'
import { withId } from './insert.ts'

/** A compiled update, ready for stored documents and for the document an upsert makes. */
export interface Change {
  /** It replaces whole documents instead of applying operators. */
  readonly replacement: boolean
  /** Changes one record; returns whether anything became different. @throws MongoError */
  applyTo(collection: Collection, record: StoreRecord, filter: CompiledFilter, now: Date): boolean
  /** Inserts what the upsert makes of the filter; returns the document. @throws MongoError */
  insertInto(collection: Collection, now: Date): BsonDocument
}

/**
 * Reads the update document in `field` with its `arrayFilters`.
 * @throws MongoError 9, 14 or the operator's own code; aggregation pipelines are not supported
 */
export function readChange(fields: CommandFields, field: string, filter: BsonDocument): Change {
  const raw = fields.required(field, fields.raw(field))
  const update = Array.isArray(raw) ? raw : fields.required(field, fields.document(field))
  const arrayFilters = fields.documents('arrayFilters')
  const compiled = compileUpdate(update, {
    filter,
    collation: compileCollation(fields.document('collation')),
    ...(arrayFilters === undefined ? {} : { arrayFilters }),
  })
  return {
    replacement: compiled.replacement,
    applyTo(collection, record, compiledFilter, now) {
      const { arrayIndex } = compiledFilter.matchDetail(record.document, now)
      const at = arrayIndex === undefined ? {} : { arrayIndex }
      const { doc, changed } = compiled.apply(record.document, { now, insert: false, ...at })
      if (changed) collection.replace(record, doc)
      return changed
    },
    insertInto(collection, now) {
      const { doc } = compiled.apply(seedFromFilter(filter), { now, insert: true })
      const document = withId(doc)
      collection.insert(document)
      return document
    },
  }
}

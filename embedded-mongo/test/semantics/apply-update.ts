import { compileFilter } from '../../src/semantics/filter.ts'
import { compileUpdate } from '../../src/semantics/update.ts'
import type { BsonDocument } from '../../src/semantics/values.ts'
import { doc } from './bson-literals.ts'

/** The store's clock in these tests. */
export const now = new Date('2026-01-01T00:00:00Z')

/** What an update may come with. */
export interface Extra {
  readonly filter?: object
  readonly arrayFilters?: readonly object[]
  readonly insert?: boolean
}

/** Applies an update written as Extended JSON to a document written as Extended JSON. */
export function applyUpdate(
  document: object,
  change: object,
  extra: Extra = {},
): { doc: BsonDocument; changed: boolean } {
  const before = doc(document)
  const { arrayIndex } = extra.filter ? compileFilter(doc(extra.filter)).matchDetail(before, now) : {}
  const options = extra.arrayFilters ? { arrayFilters: extra.arrayFilters.map(doc) } : {}
  const position = arrayIndex === undefined ? {} : { arrayIndex }
  return compileUpdate(doc(change), options).apply(before, {
    now,
    insert: extra.insert ?? false,
    ...position,
  })
}

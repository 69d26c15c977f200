import { compileSortKeys, parseSort } from '../../src/semantics/sort.ts'
import type { BsonDocument } from '../../src/semantics/values.ts'

/** Sorts into a new array; equal documents keep their order. */
export function sortDocuments(documents: readonly BsonDocument[], sort: BsonDocument): BsonDocument[] {
  const { keyOf, compareKeys } = compileSortKeys(parseSort(sort))
  const keyed = documents.map((document) => ({ document, key: keyOf(document) }))
  return keyed.sort((left, right) => compareKeys(left.key, right.key)).map(({ document }) => document)
}

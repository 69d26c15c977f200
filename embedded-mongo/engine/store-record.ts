import type { BsonDocument } from '../semantics/values.ts'

/** A stored document. `seq` is its row on disk and its age: natural order is ascending `seq`. */
export interface StoreRecord {
  readonly seq: number
  document: BsonDocument
}

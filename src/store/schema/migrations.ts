import { dropIdempotency } from './drop-idempotency.ts'
import { dropOldIndexes } from './drop-old-indexes.ts'
import type { Migration } from './migration.ts'
import { noteKinds } from './note-kinds.ts'

/**
 * The version of stored documents and indexes. Raised by one with every change of an index or of the meaning of a stored field;
 * `test/store/schema.test.ts` fails until it is.
 */
export const SCHEMA_VERSION = 19

/**
 * The oldest schema version whose processes may use a store of this version: during a rolling upgrade they read what this version
 * writes, and write what this version reads. Raised to `SCHEMA_VERSION` by a change that they would misread.
 */
export const OLDEST_BESIDE = 17

/** All changes of documents, oldest first. A change of indexes alone needs none: missing ones are always made. */
export const MIGRATIONS: readonly Migration[] = [dropIdempotency, dropOldIndexes, noteKinds]

import type { Migration } from './migration.ts'

const COLLECTION = 'idempotency'

/** Stores of a schema version before 10 kept the answers to creates under an `Idempotency-Key` in a collection of their own. */
export const dropIdempotency: Migration = {
  version: 11,
  title: 'drops the answers that stores of schema versions before 10 kept under an Idempotency-Key',
  count: (connection) => connection.collection(COLLECTION).countDocuments(),
  async run(connection) {
    await connection.dropCollection(COLLECTION).catch((error: unknown) => {
      // NamespaceNotFound: a store made by schema version 10, or a run that ended just after this.
      if (!(error instanceof Error && 'code' in error && error.code === 26)) throw error
    })
  },
}

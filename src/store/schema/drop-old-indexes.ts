import type { Migration } from './migration.ts'

/** Indexes by collection that version 14 makes in ascending order, or of pending requests alone; the names of the old ones. */
const OLD: readonly (readonly [collection: string, indexes: readonly string[]])[] = [
  [
    'requests',
    [
      'api_key_id_1_created_at_-1__id_-1',
      'api_key_id_1_status_1_created_at_-1__id_-1',
      'account_id_1_created_at_-1__id_-1',
      'account_id_1_status_1_created_at_-1__id_-1',
      'requirement.approvers.user_id_1_account_id_1_created_at_-1__id_-1',
      'requirement.approvers.user_id_1_status_1_expires_at_1__id_1',
      'by_voter',
    ],
  ],
  [
    'audit_log',
    [
      'entry.account_id_1__id_-1',
      'entry.account_id_1_entry.at_-1__id_-1',
      'entry.subject_1__id_-1',
      'entry.type_1__id_-1',
    ],
  ],
  ['deliveries', ['target_key_1_account_id_1_created_at_-1__id_-1']],
]

/** IndexNotFound, or NamespaceNotFound: a run that ended in between, or a collection that was never written to. */
const GONE: readonly unknown[] = [27, 26]

/**
 * Drops indexes that are made anew in another order. No document changes: a decision that has a receipt of its own is read as before,
 * and new ones are stored without it, since their vote has it.
 */
export const dropOldIndexes: Migration = {
  version: 14,
  title: 'drops indexes in descending order, which are made anew in ascending order',
  count: async () => 0,
  async run(connection) {
    for (const [collection, indexes] of OLD)
      for (const index of indexes)
        await connection
          .collection(collection)
          .dropIndex(index)
          .catch((error: unknown) => {
            if (!(error instanceof Error && 'code' in error && GONE.includes(error.code))) throw error
          })
  },
}

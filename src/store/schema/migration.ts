import type { StoreConnection } from '../mongo/connect.ts'

/**
 * A change of stored documents. It may end at any point and is then run again from its beginning, so it must find what is still
 * to do by the documents themselves, and work in slices, since the service of an older version may be running beside it.
 */
export interface Migration {
  /** The schema version that stores have after it. */
  version: number
  /** What it does, for the operator: `drops …`, `moves …`. */
  title: string
  /** Counts the documents it would change; changes nothing. */
  count(connection: StoreConnection): Promise<number>
  /** @param onProgress is told the documents done so far by this run */
  run(connection: StoreConnection, onProgress: (done: number) => void): Promise<void>
}

import { answers, readLockNote, socketUri, storeFiles } from './store-files.ts'

/** The store another process runs on a data directory. */
export interface RunningStore {
  uri: string
  pid: number
}

/**
 * Finds the store that is serving `dataDir` now, so that a second process (the CLI beside a running
 * service) can connect to it; undefined if none answers.
 */
export async function findRunningStore(dataDir: string): Promise<RunningStore | undefined> {
  const note = readLockNote(storeFiles(dataDir))
  if (note === undefined || !(await answers(note.socketPath))) return undefined
  return { uri: socketUri(note.socketPath), pid: note.pid }
}

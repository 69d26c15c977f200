import { type EmbeddedStore, startEmbeddedStore } from './start-embedded-store.ts'

/**
 * The body of `countersign store`: serves `dataDir` in the foreground until `stop` is aborted, then closes
 * cleanly. `onReady` is told where. Resolves once everything is on disk and the directory is free again.
 * @throws StoreLockedError when another store holds the directory; Error when the store ends by itself
 */
export async function runStoreProcess(options: {
  dataDir: string
  stop: AbortSignal
  onReady: (store: EmbeddedStore) => void
}): Promise<void> {
  const store = await startEmbeddedStore({ dataDir: options.dataDir })
  // A worker thread with an open server keeps the process alive, so there is nothing else to wait for.
  const stopped = new Promise<undefined>((done) => {
    if (options.stop.aborted) done(undefined)
    else options.stop.addEventListener('abort', () => done(undefined), { once: true })
  })
  options.onReady(store)
  const failure = await Promise.race([stopped, store.failed])
  if (failure !== undefined) throw failure
  await store.close()
}

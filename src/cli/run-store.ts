import { runStoreProcess } from 'embedded-mongo'
import { loadDataDir } from '../config/config.ts'

/**
 * `countersign store`: the embedded store on DATA_DIR as a process of its own, until SIGINT or SIGTERM. Its address is the
 * first line on stdout. @throws StoreLockedError
 */
export async function runStore(options: { json?: boolean }): Promise<void> {
  const dataDir = loadDataDir()
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const onReady = ({ uri }: { uri: string }): void => {
    const line = options.json ? JSON.stringify({ mongodb_uri: uri, data_dir: dataDir }) : `MONGODB_URI=${uri}`
    process.stdout.write(`${line}\n`)
  }
  await runStoreProcess({ dataDir, stop: stop.signal, onReady })
}

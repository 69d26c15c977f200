import { parentPort, workerData } from 'node:worker_threads'
import { StoreLockedError } from './store-locked-error.ts'
import { type StoreServer, serveStore } from './store-server.ts'
import type { WorkerReport } from './worker-messages.ts'

/** The store's thread: opens the directory it is told, reports, and closes when asked. */
async function main(): Promise<void> {
  const port = parentPort
  const dataDir: unknown = workerData
  if (port === null || typeof dataDir !== 'string')
    throw new Error('this file is the thread of an embedded store')
  const report = (message: WorkerReport) => port.postMessage(message)
  let server: StoreServer
  try {
    server = await serveStore(dataDir)
  } catch (error) {
    report(failureOf(error))
    return
  }
  port.once('message', () => {
    server.close().then(
      () => {
        report({ kind: 'closed' })
        port.close()
      },
      (error: unknown) => {
        report(failureOf(error))
        port.close()
      },
    )
  })
  report({ kind: 'ready', socketPath: server.socketPath })
}

function failureOf(error: unknown): WorkerReport {
  if (error instanceof StoreLockedError) {
    const { pid, socketPath } = error
    return { kind: 'locked', pid, ...(socketPath === undefined ? {} : { socketPath }) }
  }
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
}

await main()

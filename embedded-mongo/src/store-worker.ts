import { parentPort, workerData } from 'node:worker_threads'
import { StoreLockedError } from './data-directory.ts'
import { messageOf, StoreFileError } from './engine/file-errors.ts'
import type { PlanReport } from './engine/store-engine.ts'
import { type StoreServer, serveStore } from './store-server.ts'

/** What the store's thread tells the thread that started it. Any message the other way means "close". */
export type WorkerReport =
  | { kind: 'ready'; socketPath: string }
  | { kind: 'locked' }
  /** `told`: the message alone tells a person what to do. */
  | { kind: 'failed'; message: string; told: boolean }
  | { kind: 'plan'; report: PlanReport }
  /** The store serves nothing any more; `message` as of `failed`. */
  | { kind: 'damaged'; message: string }
  | { kind: 'closed' }

/** The store's thread: opens the directory it is given, reports, and closes when asked. */
async function main(): Promise<void> {
  const port = parentPort
  const data: unknown = workerData
  if (port === null || !isOptions(data)) throw new Error('this file is the thread of an embedded store')
  const report = (message: WorkerReport) => port.postMessage(message)
  let server: StoreServer
  try {
    const onPlan = data.plans ? (plan: PlanReport) => report({ kind: 'plan', report: plan }) : undefined
    const onDamage = ({ message }: Error) => report({ kind: 'damaged', message })
    server = await serveStore(data.dataDir, { onPlan, onDamage })
  } catch (error) {
    report(failureOf(error))
    sayClosed(data.closed)
    return
  }
  // After an uncaught error or a failed close: uncommitted changes were never acknowledged.
  const closeFile = () => {
    try {
      server.engine.file.close()
    } finally {
      sayClosed(data.closed)
    }
  }
  process.once('exit', closeFile)
  port.once('message', () => {
    server
      .close()
      .then(
        () => {
          process.off('exit', closeFile)
          sayClosed(data.closed)
          report({ kind: 'closed' })
        },
        (error: unknown) => report(failureOf(error)),
      )
      .finally(() => port.close())
  })
  report({ kind: 'ready', socketPath: server.socketPath })
}

/** The `workerData` that the thread is started with. */
export interface WorkerOptions {
  dataDir: string
  /** Whether to report plans. */
  plans: boolean
  /** One `Int32` that is not 0 once the file is closed, for a thread that cannot wait for messages. */
  closed: SharedArrayBuffer
}

function sayClosed(closed: SharedArrayBuffer): void {
  const flag = new Int32Array(closed)
  Atomics.store(flag, 0, 1)
  Atomics.notify(flag, 0)
}

function isOptions(data: unknown): data is WorkerOptions {
  return typeof data === 'object' && data !== null && 'dataDir' in data && typeof data.dataDir === 'string'
}

function failureOf(error: unknown): WorkerReport {
  if (error instanceof StoreLockedError) return { kind: 'locked' }
  return { kind: 'failed', message: messageOf(error), told: error instanceof StoreFileError }
}

await main()

import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { readLockNote, socketUri, storeFiles } from './store-files.ts'
import { StoreLockedError } from './store-locked-error.ts'
import type { WorkerReport } from './worker-messages.ts'

/** How long a holder that has the lock may take to say who it is. */
const NOTE_POLLS = 10
const NOTE_POLL_MS = 50

/** A store running in a thread of this process. */
export interface EmbeddedStore {
  /** For the driver, mongoose and Agenda: the socket, `directConnection=true&retryWrites=false`. */
  uri: string
  socketPath: string
  /** Resolves with the reason if the store's thread ever ends without having been asked to. */
  failed: Promise<Error>
  /** Makes everything durable, disconnects everybody and frees the directory. Safe to call twice. */
  close(): Promise<void>
}

/**
 * Starts the embedded store on a data directory (created if missing, mode 0700) in a worker thread.
 * @throws StoreLockedError when another live process, or this one, already serves the directory;
 *   Error when the directory or its file cannot be used
 */
export async function startEmbeddedStore(options: { dataDir: string }): Promise<EmbeddedStore> {
  const worker = new Worker(workerFile(), { workerData: options.dataDir })
  const exited = new Promise<Error>((done) => {
    worker.once('error', (error) => done(error instanceof Error ? error : new Error(String(error))))
    worker.once('exit', (code) => done(new Error(`the embedded store's thread ended with code ${code}`)))
  })
  const report = await Promise.race([nextReport(worker), exited])
  if (report instanceof Error) throw report
  if (report.kind === 'locked') throw await lockedError(options.dataDir)
  if (report.kind !== 'ready')
    throw new Error(report.kind === 'failed' ? report.message : 'the store closed early')
  let closing: Promise<void> | undefined
  return {
    uri: socketUri(report.socketPath),
    socketPath: report.socketPath,
    failed: exited.then((error) => (closing === undefined ? error : new Promise<Error>(() => undefined))),
    close: () => {
      closing ??= closeWorker(worker, exited)
      return closing
    },
  }
}

async function closeWorker(worker: Worker, exited: Promise<Error>): Promise<void> {
  const answer = nextReport(worker)
  worker.postMessage('close')
  const report = await Promise.race([answer, exited])
  await exited
  if (report instanceof Error) throw report
  if (report.kind === 'failed') throw new Error(report.message)
}

function nextReport(worker: Worker): Promise<WorkerReport> {
  return new Promise((done) => {
    worker.once('message', (report: WorkerReport) => done(report))
  })
}

/** The holder writes its note a moment after it has taken the lock. */
async function lockedError(dataDir: string): Promise<StoreLockedError> {
  const files = storeFiles(dataDir)
  for (let poll = 0; poll < NOTE_POLLS; poll += 1) {
    const note = readLockNote(files)
    if (note !== undefined) return new StoreLockedError(files.directory, note)
    await delay(NOTE_POLL_MS)
  }
  return new StoreLockedError(files.directory)
}

/**
 * The thread's file. Worker threads load no TypeScript, so a caller that runs from source (the tests) is
 * given the compiled one.
 */
function workerFile(): URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('./store-worker.js', import.meta.url)
  const compiled = new URL('../dist/embedded-mongo/store-worker.js', import.meta.url)
  if (existsSync(fileURLToPath(compiled))) return compiled
  throw new Error('the embedded store is not built: run `npx tsc -p tsconfig.build.json` first')
}

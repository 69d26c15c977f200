import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { CopyMark } from './check-copy.ts'
import { copyStore } from './copy-store.ts'
import { readLockNote, StoreLockedError, socketUri, storeFiles } from './data-directory.ts'
import { explainFileError, FileBusyError, StoreFileError } from './engine/file-errors.ts'
import type { PlanReport } from './engine/store-engine.ts'
import type { Held } from './engine/survey.ts'
import type { WorkerOptions, WorkerReport } from './store-worker.ts'

export type { CopyMark } from './check-copy.ts'
export { copyStore } from './copy-store.ts'
export { findRunningStore, StoreLockedError } from './data-directory.ts'
export { StoreFileError } from './engine/file-errors.ts'
export type { PlanReport } from './engine/store-engine.ts'
export type { Held } from './engine/survey.ts'

/** How long a holder that has the lock may take to say who it is. */
const NOTE_POLLS = 10
const NOTE_POLL_MS = 50

/** A store running in a thread of this process. */
export interface EmbeddedStore {
  /** The connection string for the driver, mongoose and Agenda: the socket, `directConnection=true&retryWrites=false`. */
  uri: string
  socketPath: string
  /**
   * Resolves with the reason if the store ever serves nothing any more without having been asked to: its thread ended, or its file
   * is damaged. Its message is for people. The program must end, too.
   */
  failed: Promise<Error>
  /** Makes everything durable, disconnects every client and frees the directory. Safe to call twice. */
  close(): Promise<void>
}

/**
 * Starts the embedded store on a data directory (created if missing, mode 0700) in a worker thread. Worker threads load no
 * TypeScript, so this works from the compiled package only. `onPlan` is for tests: it is called with the plan of each statement.
 * @throws StoreLockedError when another live process, or this one, already serves the directory; StoreFileError when the
 * directory or its file cannot be used
 */
export async function startEmbeddedStore(options: {
  dataDir: string
  onPlan?: (report: PlanReport) => void
}): Promise<EmbeddedStore> {
  const { dataDir, onPlan } = options
  const closed = new SharedArrayBuffer(4)
  const workerData: WorkerOptions = { dataDir, plans: onPlan !== undefined, closed }
  const worker = new Worker(new URL('./store-worker.js', import.meta.url), { workerData })
  closeBeforeExit(worker, closed)
  const damaged = new Promise<Error>((done) => {
    worker.on('message', (message: WorkerReport) => {
      if (message.kind === 'plan') onPlan?.(message.report)
      if (message.kind === 'damaged') done(new StoreFileError(message.message))
    })
  })
  const exited = new Promise<Error>((done) => {
    worker.once('error', (error) => done(error instanceof Error ? error : new Error(String(error))))
    worker.once('exit', (code) => done(new Error(`the embedded store's thread ended with code ${code}`)))
  })
  const report = await Promise.race([nextReport(worker), exited])
  if (report instanceof Error) throw report
  if (report.kind === 'locked') throw await lockedError(dataDir)
  if (report.kind !== 'ready') throw failureOf(report)
  let closing: Promise<void> | undefined
  return {
    uri: socketUri(report.socketPath),
    socketPath: report.socketPath,
    failed: Promise.race([damaged, exited]).then((error) =>
      closing === undefined ? error : new Promise<Error>(() => undefined),
    ),
    close: () => {
      closing ??= closeWorker(worker, exited)
      return closing
    },
  }
}

/**
 * Serves `dataDir` in the foreground, for a process that does nothing else, until `stop` is aborted; then closes cleanly.
 * `onReady` receives the store. Resolves once everything is on disk and the directory is free again.
 * @throws StoreLockedError when another store holds the directory; Error when the store ends by itself
 */
export async function runStoreProcess(options: {
  dataDir: string
  stop: AbortSignal
  onReady: (store: EmbeddedStore) => void
}): Promise<void> {
  const store = await startEmbeddedStore({ dataDir: options.dataDir })
  // A worker thread with an open server keeps the process alive, so there is nothing else to wait for.
  const stopped = options.stop.aborted ? undefined : once(options.stop, 'abort').then(() => undefined)
  options.onReady(store)
  const failure = await Promise.race([stopped, store.failed])
  await store.close().catch((error: unknown) => {
    throw failure ?? error
  })
  if (failure !== undefined) throw failure
}

/**
 * Copies a store into a new directory, with those files of `beside` that exist, opens the copy, reads every document, since a
 * backup of data that the disk has damaged would replace a sound one, and adds the mark: a copy has it, or no name. Never call this
 * in the process that serves the store. A failed backup leaves nothing in the directory.
 * @throws StoreFileError
 */
export async function backUpStore(options: {
  dataDir: string
  to: string
  beside: readonly string[]
  mark?: CopyMark
}): Promise<void> {
  const { dataDir, to, beside, mark } = options
  // Imported only here: a process that serves a store opens its file in a separate thread.
  const { finishCopy } = await import('./check-copy.ts')
  await copyStore(dataDir, to, { beside, finish: (directory) => finishCopy(dataDir, directory, mark) })
}

/**
 * Reads every page and document of a store that no process serves. Opening writes: give it a copy.
 * @returns a description of what is damaged, or undefined
 * @throws StoreFileError when it is no store
 */
export async function findDamage(dataDir: string): Promise<string | undefined> {
  const { readWhole } = await import('./check-copy.ts')
  return readWhole(dataDir)
}

/**
 * Reads a store that is damaged, while no process serves it, and changes nothing. Yields every document that is whole, as BSON, and
 * says what is damaged: `documents` is how many documents that concerns, 0 if it is something else, such as an index.
 * @throws StoreLockedError; StoreFileError when nothing can be read at all
 */
export async function* salvageStore(dataDir: string): AsyncGenerator<Held> {
  const { readAsItIs } = await import('./engine/survey.ts')
  const files = storeFiles(dataDir)
  try {
    yield* readAsItIs(files.database)
  } catch (error) {
    throw error instanceof FileBusyError
      ? new StoreLockedError(files.directory, readLockNote(files))
      : explainFileError(error, files.database)
  }
}

/** Milliseconds that an exiting process waits at most for its store to close. */
const CLOSE_MS = 5_000

/**
 * Closes the store before a process exits by itself, as after an uncaught error. The exit stops its threads wherever they are,
 * and SQLite then folds its log into the file without the seal's knowledge. If closing takes too long, killing the process is
 * safer.
 */
function closeBeforeExit(worker: Worker, closed: SharedArrayBuffer): void {
  const close = () => {
    worker.postMessage('close')
    const flag = new Int32Array(closed)
    if (Atomics.wait(flag, 0, 0, CLOSE_MS) !== 'timed-out') return
    process.kill(process.pid, 'SIGKILL')
    // As process 1 of a container it gets no signal of its own: it waits on, and the container's engine kills it from outside.
    Atomics.wait(flag, 0, 0)
  }
  process.once('exit', close)
  worker.once('exit', () => process.off('exit', close))
}

async function closeWorker(worker: Worker, exited: Promise<Error>): Promise<void> {
  const answer = nextReport(worker)
  worker.postMessage('close')
  const report = await Promise.race([answer, exited])
  await exited
  if (report instanceof Error) throw report
  if (report.kind === 'failed') throw failureOf(report)
}

function failureOf(report: WorkerReport): Error {
  if (report.kind !== 'failed') return new Error('the store closed early')
  return report.told ? new StoreFileError(report.message) : new Error(report.message)
}

function nextReport(worker: Worker): Promise<WorkerReport> {
  return new Promise((done) => {
    const take = (report: WorkerReport) => {
      if (report.kind === 'plan' || report.kind === 'damaged') return
      worker.off('message', take)
      done(report)
    }
    worker.on('message', take)
  })
}

/** Waits for the holder's lock note, which it writes a moment after it has taken the lock. */
async function lockedError(dataDir: string): Promise<StoreLockedError> {
  const files = storeFiles(dataDir)
  for (let poll = 0; poll < NOTE_POLLS; poll += 1) {
    const note = readLockNote(files)
    if (note !== undefined) return new StoreLockedError(files.directory, note)
    await delay(NOTE_POLL_MS)
  }
  return new StoreLockedError(files.directory)
}

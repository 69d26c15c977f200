import { setTimeout as pause } from 'node:timers/promises'
import type { mongo } from 'mongoose'
import { type RecordDocument, toRecord } from '../audit/audit-trail.ts'
import { readHello } from '../clock.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { readSchema } from '../schema/prepare-schema.ts'
import { createPartSum, createWholeSum, type Manifest } from './archive-format.ts'
import { archivedCollections, countArchived, readLines, within } from './archived-collections.ts'

/** How far an archive is: documents of that collection so far. */
export type OnProgress = (progress: { collection: string; documents: number; of: number }) => void

export interface Source {
  connection: StoreConnection
  /** A snapshot, if the store has them; else nothing may write to the store meanwhile. */
  session?: mongo.ClientSession
}

/** Opens a snapshot of a replica set: everything read in it is of one moment, up to 5 min later unless the server is set otherwise. */
export function openSnapshot(connection: StoreConnection): mongo.ClientSession {
  return connection.getClient().startSession({ snapshot: true })
}

/** Describes what of a store an archive will hold. */
export async function surveyStore(
  { connection, session }: Source,
  known: Pick<Manifest, 'copy' | 'stopped' | 'version' | 'commit' | 'lost' | 'secrets'> & { kind: string },
): Promise<Manifest> {
  const { kind, ...rest } = known
  const recordAt = (end: 1 | -1) =>
    connection
      .collection<RecordDocument>('audit_log')
      .findOne({ _id: { $gte: 1 } }, { sort: { _id: end }, ...within(session) })
  const collections: Manifest['collections'] = []
  for (const name of await archivedCollections(connection)) {
    const documents = await countArchived(connection, name, session)
    if (documents > 0) collections.push({ name, documents })
  }
  const first = await recordAt(1)
  const head = await recordAt(-1)
  return {
    countersign_archive: 1,
    ...rest,
    schema_version: await readSchema(connection),
    store: { kind, id: first === null ? null : toRecord(first).hash },
    audit_head: head === null ? null : { seq: head._id, hash: toRecord(head).hash },
    collections,
  }
}

/**
 * Writes an archive of a store, some lines at a time.
 * @throws StoreChangedError when the store holds other documents than the manifest says
 */
export async function* writeArchive(
  { connection, session }: Source,
  manifest: Manifest,
  onProgress: OnProgress,
): AsyncGenerator<Uint8Array> {
  const whole = createWholeSum()
  const control = (value: object): Buffer => {
    const line = JSON.stringify(value)
    whole.add(line)
    return Buffer.from(`${line}\n`)
  }
  yield control(manifest)
  for (const { name, documents: of } of manifest.collections) {
    const sum = createPartSum(name)
    let documents = 0
    for await (const { lines, documents: more } of readLines(connection, name, session)) {
      sum.add(lines, more)
      documents += more
      onProgress({ collection: name, documents, of })
      yield lines
    }
    if (documents !== of) throw new StoreChangedError(name)
    yield control(sum.end())
  }
  yield Buffer.from(`${JSON.stringify({ archive: { sha256: whole.end() } })}\n`)
}

/** MongoDB's code for a snapshot that it no longer keeps. */
const SNAPSHOT_TOO_OLD = 239

/** Words the error of a server that does not keep the snapshot for as long as the archive takes; returns others unchanged. */
export function snapshotInWords(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === SNAPSHOT_TOO_OLD)) return error
  return new SnapshotLostError(
    'The replica set keeps a snapshot for less time than the archive takes: set its parameter minSnapshotHistoryWindowInSeconds higher, for as long as the export runs.',
    { cause: error },
  )
}

class SnapshotLostError extends Error {
  override readonly name = 'SnapshotLostError'
}

/** Something wrote to the store while it was read without a snapshot. */
class StoreChangedError extends Error {
  override readonly name = 'StoreChangedError'

  constructor(collection: string) {
    super(
      `The store changed while it was read (${collection}), so the archive would contradict itself: stop every process of the service, and export again.`,
    )
  }
}

/** A service runs on a store that has no snapshots. */
class StoreInUseError extends Error {
  override readonly name = 'StoreInUseError'
}

/** A service sweeps every 10 s; one that has not for this long was stopped. */
const QUIET_MS = 30_000
const LOOK_MS = 500

/**
 * Waits until no service has worked on the store for a while.
 * @param onWait is called once if there is a wait
 * @returns a function that throws if one has worked since
 * @throws StoreInUseError
 */
export async function untilQuiet(
  connection: StoreConnection,
  onWait: () => void,
): Promise<() => Promise<void>> {
  const first = await lastRun(connection)
  const begun = performance.now()
  const refuseRun = async (): Promise<void> => {
    if ((await lastRun(connection)) !== first) throw inUse()
  }
  if (!(await isQuiet(connection))) {
    onWait()
    while (performance.now() - begun < QUIET_MS) {
      await pause(LOOK_MS)
      await refuseRun()
    }
  }
  return refuseRun
}

/** Checks whether no service has worked on the store for a while. */
export async function isQuiet(connection: StoreConnection): Promise<boolean> {
  const last = await lastRun(connection)
  const { skewMs } = await readHello(connection)
  return last === undefined || Math.abs(Date.now() + skewMs - last) >= QUIET_MS
}

function inUse(): StoreInUseError {
  return new StoreInUseError(
    'A service runs on this store, which has no snapshots, so an archive of it would contradict itself: stop every process of the service, and export again. A replica set can be exported while it is used.',
  )
}

/** Returns when a sweep last ran, in milliseconds of the store's clock. */
async function lastRun(connection: StoreConnection): Promise<number | undefined> {
  const [last] = await connection
    .collection<{ lastRunAt?: Date }>('jobs')
    .find({}, { projection: { lastRunAt: 1 } })
    .sort({ lastRunAt: -1 })
    .limit(1)
    .toArray()
  return last?.lastRunAt?.getTime()
}

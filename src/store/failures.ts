import type { Collection, mongo, Query } from 'mongoose'

/**
 * Is it MongoDB's refusal of a second document with the same unique key (E11000), on this field if one is named? Services that
 * speak its protocol do not all tell the fields; the index's name, which holds them, is in the words of all.
 */
export function isDuplicateKey(error: unknown, field?: string): boolean {
  if (!(error instanceof Error && 'code' in error && error.code === 11000)) return false
  if (field === undefined) return true
  if ('keyPattern' in error) return field in Object(error.keyPattern)
  const [, index = ''] = /index: (?:[^ ]*\$)?([^ ]+)/.exec(error.message) ?? []
  return field === '_id' ? index === '_id_' : `_${index}`.includes(`_${field}_1`)
}

/** @returns false when the write ran into another document's unique key (on this field, if one is named) */
export async function unlessTaken(write: () => Promise<unknown>, field?: string): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    if (isDuplicateKey(error, field)) return false
    throw error
  }
}

/** The driver's names for: the store cannot be reached, or did not answer in time. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoOperationTimeoutError',
  'MongoServerSelectionError',
  'MongooseServerSelectionError',
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoServerClosedError',
  'MongoPoolClearedError',
  'PoolClearedOnNetworkError',
  'MongoPoolClosedError',
  'MongoWaitQueueTimeoutError',
])

/** A socket's codes for a line that broke. Where a command could not even be written the driver (mongodb 7.8) hands them on raw. */
const BROKEN_LINE: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT'])

/** A server's codes for: not I, or not now. An election, a majority that does not answer, a stop, a full disk. */
const NOT_NOW: ReadonlySet<unknown> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10058, // LegacyNotPrimary
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
  39, // FileStreamFailed
  14031, // OutOfDiskSpace
])

/** Of these the ones that say that the disk is full, or does not do what it should. */
const DISK: ReadonlySet<unknown> = new Set([39, 14031])

/** DataCorruptionDetected */
const DAMAGED: ReadonlySet<unknown> = new Set([366])

/** BSONObjectTooLarge, of a document or of one after an update: MongoDB's 16 MiB. */
const FULL: ReadonlySet<unknown> = new Set([10334, 17419])

/** The embedded store's own words for a disk that fails: where, how much is free, what to do. Undefined for any other error. */
export function diskTrouble(error: unknown): string | undefined {
  return wordsOf(error, DISK)
}

/**
 * Its words for a document that is not as it was written: which file, what to do. What else documents hold has narrow bounds, so one
 * is only full of what waits for the audit trail when that has taken nothing for long. Undefined for any other error.
 */
export function damageTold(error: unknown): string | undefined {
  const full = wordsOf(error, FULL)
  if (full === undefined) return wordsOf(error, DAMAGED)
  return `a document is full (${full}): what it left for the audit trail waits there. Run: countersign audit check`
}

/** Of a find: the embedded store may leave out what is damaged. */
interface Partial {
  allowPartialResults?: true
}

/** Said on the connection of each damaged document that was passed over, with the error that names it. */
export const PASSED_OVER = 'damage passed over'

/**
 * Reads for work that must go on: a damaged document is reported, and holds up no other. Never for what a person asked to see, which
 * would be incomplete without a word.
 */
export async function readSound<T>(
  connection: { emit(event: string, error: unknown): unknown },
  read: (options: Partial) => Promise<T>,
): Promise<T> {
  try {
    return await read({})
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    connection.emit(PASSED_OVER, error)
    return read({ allowPartialResults: true })
  }
}

/** `readSound` of a query of mongoose, with what it finds as it is stored. */
export function leanSound<Found>(query: Query<unknown, unknown>): Promise<Found> {
  return readSound(query.model.db, (sound) => query.clone().setOptions(sound).lean<Found>().exec())
}

/** `readSound` past the models: documents as they are. */
export function findSound<Stored extends mongo.Document, Found extends mongo.Document = Stored>(
  collection: Collection<Stored>,
  filter: mongo.Filter<Stored>,
  options: mongo.FindOptions,
): Promise<Found[]> {
  return readSound(collection.conn, (sound) =>
    collection.find<Found>(filter, { ...options, ...sound }).toArray(),
  )
}

/** Is there one? One that is damaged is one, too: where nothing is, one would be made. */
export async function isThere(
  connection: Parameters<typeof readSound>[0],
  find: () => Promise<unknown>,
): Promise<boolean> {
  try {
    return (await find()) !== null
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    connection.emit(PASSED_OVER, error)
    return true
  }
}

/** Is what this reads damaged? */
export async function isDamaged(read: () => Promise<unknown>): Promise<boolean> {
  try {
    await read()
    return false
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    return true
  }
}

function wordsOf(error: unknown, codes: ReadonlySet<unknown>): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && codes.has(error.code)) return error.message
  const inner = 'errorResponse' in error ? error.errorResponse : error.cause
  return inner === error ? undefined : wordsOf(inner, codes)
}

/**
 * Does the error mean that the store cannot do it now, rather than that it refused? Nothing is said about the request: it may
 * have been done, and may be sent again.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (UNREACHABLE.has(error.name)) return true
  if ('code' in error && (NOT_NOW.has(error.code) || BROKEN_LINE.has(error.code))) return true
  const inner = 'errorResponse' in error ? error.errorResponse : error.cause
  return inner !== error && isUnavailable(inner)
}

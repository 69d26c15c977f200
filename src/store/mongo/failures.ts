/** MongoDB's code for a second document with the same unique key. */
export const DUPLICATE_KEY = 11000

/**
 * Checks whether the error is MongoDB's refusal of a duplicate unique key (E11000), on this field if one is named. Not every
 * service that speaks MongoDB's protocol tells the fields, but each one's message has the index name, which contains them.
 */
export function isDuplicateKey(error: unknown, field?: string): boolean {
  if (!(error instanceof Error && 'code' in error && error.code === DUPLICATE_KEY)) return false
  if (field === undefined) return true
  if ('keyPattern' in error) return field in Object(error.keyPattern)
  const [, index = ''] = /index: (?:[^ ]*\$)?([^ ]+)/.exec(error.message) ?? []
  return field === '_id' ? index === '_id_' : `_${index}`.includes(`_${field}_1`)
}

/** Does the write. @returns false when another document has its unique key (on this field, if one is named) */
export async function unlessTaken(write: () => Promise<unknown>, field?: string): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    if (isDuplicateKey(error, field)) return false
    throw error
  }
}

/** The driver's error names for a store that cannot be reached, or did not answer in time. */
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

/** A socket's codes for a broken connection. */
const BROKEN_LINE: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT'])

/**
 * Checks whether the error is the one that the driver (mongodb 7.8) passes on raw when it could not write a command. Express reports
 * a client that left under the same codes, and so does a call to another server in its `cause`: neither says anything of the store.
 */
function isBrokenLine(error: Error): boolean {
  return (
    'code' in error &&
    BROKEN_LINE.has(error.code) &&
    'syscall' in error &&
    (error.syscall === 'write' || error.syscall === 'read')
  )
}

/** A server's codes for a temporary refusal: an election, a majority that does not answer, a shutdown, a full disk. */
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
  366, // DataCorruptionDetected
])

/** That of an embedded store whose file is damaged: it serves nothing any more. */
const ENDED: ReadonlySet<unknown> = new Set([366])

/** Those of these codes that report a full or failing disk. */
const DISK: ReadonlySet<unknown> = new Set([39, 14031, ...ENDED])

/** Returns the embedded store's message for a failing disk: where, how much is free, what to do. Undefined for other errors. */
export function diskTrouble(error: unknown): string | undefined {
  return wordsOf(error, DISK)
}

/** Checks whether an embedded store refused because it serves nothing any more: the process that runs it ends. */
export function hasEnded(error: unknown): boolean {
  return wordsOf(error, ENDED) !== undefined
}

function wordsOf(error: unknown, codes: ReadonlySet<unknown>): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && codes.has(error.code)) return error.message
  const inner = 'errorResponse' in error ? error.errorResponse : error.cause
  return inner === error ? undefined : wordsOf(inner, codes)
}

/**
 * Checks whether the error means that the store cannot do it now, rather than that it refused. The operation may have been
 * done nevertheless, and may be sent again.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (UNREACHABLE.has(error.name) || ('code' in error && NOT_NOW.has(error.code))) return true
  if ('errorResponse' in error) return error.errorResponse !== error && isUnavailable(error.errorResponse)
  const { cause } = error
  return isBrokenLine(error) || (!(cause instanceof Error && isBrokenLine(cause)) && isUnavailable(cause))
}

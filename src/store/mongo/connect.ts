import { Connection } from 'mongodb/lib/cmap/connection.js'
import mongoose from 'mongoose'
import { isUnavailable } from './failures.ts'
import { inWords } from './server.ts'

/** A connection on which every model of the service is defined. */
export type StoreConnection = mongoose.Connection

/** How long to wait for a store that does not answer at the start: as long as an election may take. */
const PATIENCE_MS = 10_000

/**
 * Opens the store. Filters of models take plain values only: an operator from outside becomes a literal (T61), and an unknown path
 * throws instead of matching everything. Writes are acknowledged by a majority and journalled.
 * @param limitMs how long an operation may take. A server that is frozen or cut off keeps its connections open and never
 * answers. The driver (mongodb 7.8) ignores `timeoutMS` and retries an operation once, so each try gets half of the time
 * @throws StoreUnreachableError when the store does not answer within 10 s; UnsuitableStoreError
 */
export async function connectStore(uri: string, limitMs = 30_000): Promise<StoreConnection> {
  for (const asked = performance.now(); ; ) {
    const connection = open(uri, limitMs)
    try {
      return await connection.asPromise()
    } catch (error) {
      await connection.close().catch(() => undefined)
      if (!isUnavailable(error) || performance.now() - asked > PATIENCE_MS - limitMs / 2) throw inWords(error)
    }
  }
}

/**
 * Wakes whoever waits to write to a connection of the driver that has closed; no other socket of the process is touched.
 *
 * For a report to the driver's issues (mongodb 7.8.0, Node 20.20.2): `Connection.writeCommand` waits for the socket to drain when
 * the socket's buffer is full or the socket was just destroyed. A destroyed socket never drains, and one that closes without an
 * error emits none, so the operation never settles. To reproduce: a server answers the handshake and reads no more, as a frozen
 * mongod does; then, with `socketTimeoutMS: 500`, `insertOne({ text: 'x'.repeat(10_000_000) })` is still pending after 15 s,
 * while a document of 100 bytes fails after half a second. When a store dies, its sockets close at once, and the driver's own monitor
 * may hang likewise; then nothing finds the store again. Remove this when `writeCommand` also ends on `close`
 * (`test/store/closed-writes.test.ts` shows it).
 */
function wakeClosedWrites(): void {
  const { onClose } = Connection.prototype
  Connection.prototype.onClose = function wakeWrites() {
    // Marks the connection as failed, which the woken command checks next.
    onClose.call(this)
    this.socket.emit('drain')
  }
}
wakeClosedWrites()

function open(uri: string, limitMs: number): StoreConnection {
  const tryMs = Math.ceil(limitMs / 2)
  return mongoose.createConnection(uri, {
    serverSelectionTimeoutMS: tryMs,
    waitQueueTimeoutMS: tryMs,
    connectTimeoutMS: tryMs,
    socketTimeoutMS: tryMs,
    maxPoolSize: 32,
    bufferCommands: false,
    autoCreate: false,
    autoIndex: false,
    sanitizeFilter: true,
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
  })
}

/** How long a health probe waits for the store: far less than an operation may take. */
const PROBE_MS = 1_500

/** @throws while the store cannot do its work; the embedded store also throws when its disk takes no writes */
export async function ping(connection: StoreConnection): Promise<void> {
  await connection.db?.command({ ping: 1 }, { signal: AbortSignal.timeout(PROBE_MS) })
}

/** Schema options shared by all collections: nothing is dropped, added or cast silently. */
export const STRICT_SCHEMA = {
  versionKey: false,
  minimize: false,
  strict: 'throw',
  strictQuery: 'throw',
  autoIndex: false,
  autoCreate: false,
  id: false,
} as const

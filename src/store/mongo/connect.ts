import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import type { mongo } from 'mongoose'
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
  const followStore = wakeClosedWrites()
  for (const asked = performance.now(); ; ) {
    const connection = open(uri, limitMs)
    followStore(connection.getClient())
    try {
      return await connection.asPromise()
    } catch (error) {
      await connection.close().catch(() => undefined)
      if (!isUnavailable(error) || performance.now() - asked > PATIENCE_MS - limitMs / 2) throw inWords(error)
    }
  }
}

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

/** Ports of the store's servers; undefined stands for a Unix socket. */
const storePorts = new Set<number | undefined>()
let watching = false

/** The part of a client that reports the servers that make up the store. */
type TopologyNews = Pick<mongo.MongoClient, 'on'>

/**
 * Makes a command fail that is written to a store connection at the moment it closes. The driver (mongodb 7.8) then waits for
 * the socket to drain, which a destroyed socket never does. When a store dies, all its sockets close at once, and a caller
 * that hits that moment would hang for ever. So would the driver's own monitor, after which nothing finds the store again.
 * Call it before connecting.
 * @returns a function to call with the client before it connects; it covers every server the client ever finds, not only
 * those named in its address
 */
function wakeClosedWrites(): (client: TopologyNews | undefined) => void {
  if (!watching) subscribe('net.client.socket', watch)
  watching = true
  return (client) => {
    client?.on('topologyDescriptionChanged', ({ newDescription }) => {
      for (const { hostAddress } of newDescription.servers.values()) storePorts.add(hostAddress.port)
    })
  }
}

function watch(message: unknown): void {
  const { socket } = { socket: undefined, ...Object(message) }
  if (!(socket instanceof Socket)) return
  socket.once('connect', () => {
    const { remotePort } = socket
    // The driver marks the connection as failed in this same event, before the woken command checks it.
    socket.once('close', () => {
      if (storePorts.has(remotePort)) socket.emit('drain')
    })
  })
}

import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import type { mongo } from 'mongoose'
import mongoose from 'mongoose'
import { isUnavailable } from './failures.ts'

/** A connection on which every model of the service is defined. */
export type StoreConnection = mongoose.Connection

/** How long a store may be away when it is opened: as long as an election may take. */
const PATIENCE_MS = 10_000

/**
 * Opens the store. Filters take plain values only: an operator that came in from outside becomes a literal (T61), an
 * unknown path throws instead of matching everything. Writes are acknowledged by a majority and journalled.
 * @param limitMs how long an operation may take. A server that is frozen or cut off keeps its connections open and never
 * answers; the driver (mongodb 7.8) ignores `timeoutMS`, and tries what it may try again once, so each try gets half of the time
 * @throws when the store does not answer within 10 s.
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
      if (!isUnavailable(error) || performance.now() - asked > PATIENCE_MS - limitMs / 2) throw error
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

/** Indexes that earlier versions made. One that is dropped from a schema goes on working in the databases that have it. */
const RETIRED_INDEXES = [
  // A TTL index: it deleted sessions whose end the audit trail had not heard of.
  { collection: 'sessions', name: 'expires_at_1' },
  // Held three bootstraps of an e-mail address at a time, at the price of the oldest.
  { collection: 'bootstraps', name: 'slot_1' },
] as const

/** Drops retired indexes and creates every other; the same call on every start is a no-op. Unique indexes carry promises, so no index, no service. */
export async function ensureIndexes(connection: StoreConnection): Promise<void> {
  for (const { collection, name } of RETIRED_INDEXES) await dropIndex(connection, collection, name)
  for (const model of Object.values(connection.models)) {
    const indexes = model.schema.indexes().map(([key, { unique, ...options }]) => ({
      ...options,
      ...(unique ? { unique: true } : {}),
      key: new Map(Object.entries(key).map(([path, direction]) => [path, directionOf(direction)])),
    }))
    // One command for a collection: mongoose sends one for each index.
    if (indexes.length > 0) await model.collection.createIndexes(indexes)
  }
}

/** The embedded store has no other kinds of index. */
function directionOf(direction: mongoose.IndexDirection): 1 | -1 {
  if (direction === 1 || direction === -1) return direction
  throw new Error(`an index of the kind ${direction}`)
}

async function dropIndex(connection: StoreConnection, collection: string, name: string): Promise<void> {
  try {
    await connection.collection(collection).dropIndex(name)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** NamespaceNotFound, IndexNotFound: it is gone, or never was. */
function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 26 || error.code === 27)
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

/** Ports of the stores in use; undefined stands for a Unix socket. */
const storePorts = new Set<number | undefined>()
let watching = false

/** Of a client: its news about the servers that make up the store. */
type TopologyNews = Pick<mongo.MongoClient, 'on'>

/**
 * Lets commands fail that are written to a store connection in the very moment it closes. The driver (mongodb 7.8) then waits
 * for the socket to drain, which a destroyed socket never does. When a store dies all its sockets close at once, and a caller
 * that hits that moment would hang for ever: the driver's own monitor too, after which nothing finds the store again.
 * Call it before connecting.
 * @returns a function to call with the client before it has met the store; all servers it ever finds are covered, not only
 * those that its address names
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
    // The driver marks the connection as failed in this same event, before the command that is woken looks at it.
    socket.once('close', () => {
      if (storePorts.has(remotePort)) socket.emit('drain')
    })
  })
}

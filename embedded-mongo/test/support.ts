import { subscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, MongoClient, MongoServerError } from 'mongodb'
import { socketUri } from '../src/data-directory.ts'
import { type ServeOptions, type StoreServer, serveStore } from '../src/store-server.ts'

/**
 * A driver (mongodb 7.8) that writes in the very moment its connection closes waits for the socket to drain, which it never
 * does: an operation, or `close`, beside a store that ends would hang for ever.
 */
subscribe('net.client.socket', (message) => {
  const { socket } = { socket: undefined, ...Object(message) }
  if (!(socket instanceof Socket)) return
  socket.once('connect', () => {
    if (socket.remotePort === undefined) socket.once('close', () => socket.emit('drain'))
  })
})

export interface TestStore {
  dataDir: string
  server: StoreServer
  client: MongoClient
  db: Db
  close(): Promise<void>
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'embedded-mongo-'))
}

/** A store from source, in this thread, with a connected driver. */
export async function openStore(
  dataDir = temporaryDirectory(),
  { keep = false, ...options }: { keep?: boolean } & ServeOptions = {},
): Promise<TestStore> {
  const server = await serveStore(dataDir, options)
  const client = new MongoClient(socketUri(server.socketPath))
  await client.connect()
  return {
    dataDir,
    server,
    client,
    db: client.db('test'),
    async close() {
      await client.close()
      await server.close()
      if (!keep) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The server error an operation ends with. */
export async function refusal(operation: Promise<unknown>): Promise<MongoServerError> {
  try {
    await operation
  } catch (error) {
    if (error instanceof MongoServerError) return error
    throw error
  }
  throw new Error('the operation was not refused')
}

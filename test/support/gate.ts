import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Stands before the store and can be shut: connections are cut, new ones refused. */
export interface Gate {
  /** Connection string through the gate. */
  uri(database: string): string
  shut(): Promise<void>
  open(): Promise<void>
  close(): Promise<void>
}

/** Opens a gate before the store of this connection string. */
export async function openGate(storeUri: string): Promise<Gate> {
  const store = addressOf(storeUri)
  const folder = await mkdtemp(join(tmpdir(), 'gate-'))
  const path = join(folder, 'gate.sock')
  const sockets = new Set<Socket>()
  let server: Server
  const gate: Gate = {
    uri: (database) =>
      `mongodb://${encodeURIComponent(path)}/${database}?directConnection=true&retryWrites=false`,
    shut: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
    open: () =>
      new Promise((resolve, reject) => {
        server = createServer((client) => link(client, connect(store), sockets))
        server.once('error', reject)
        server.listen(path, resolve)
      }),
    async close() {
      await gate.shut()
      await rm(folder, { recursive: true, force: true })
    },
  }
  await gate.open()
  return gate
}

/** Where the store of a connection string listens: a Unix socket, or a port. */
export function addressOf(storeUri: string): { path: string } | { host: string; port: number } {
  const place = decodeURIComponent(/^mongodb:\/\/([^/?]+)/.exec(storeUri)?.[1] ?? '')
  if (place.endsWith('.sock')) return { path: place }
  const [host = '', port] = place.split(':')
  return { host, port: Number(port) }
}

function link(client: Socket, store: Socket, sockets: Set<Socket>): void {
  for (const [one, other] of [
    [client, store],
    [store, client],
  ] as const) {
    sockets.add(one)
    one.on('error', () => undefined)
    one.once('close', () => {
      sockets.delete(one)
      other.destroy()
    })
    one.pipe(other)
  }
}

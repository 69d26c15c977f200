import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer, type Server, Socket } from 'node:net'
import { serialize } from 'bson'
import { Connection } from 'embedded-mongo/wire/connection'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { connectStore } from '../../src/store/mongo/connect.ts'

const sockets = new Set<Socket>()
function collect(message: unknown): void {
  const { socket } = { socket: undefined, ...Object(message) }
  if (socket instanceof Socket) sockets.add(socket)
}
beforeEach(() => {
  sockets.clear()
  subscribe('net.client.socket', collect)
})
afterEach(() => void unsubscribe('net.client.socket', collect))

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : expect.unreachable()
}

/** A member of a replica set that says only who is in the set, and who leads it. */
async function startMember(isLeader: boolean, members: number[]): Promise<number> {
  const hello = () =>
    serialize({
      ok: 1,
      [isLeader ? 'isWritablePrimary' : 'secondary']: true,
      setName: 'set',
      setVersion: 1,
      hosts: members.map((port) => `127.0.0.1:${port}`),
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      minWireVersion: 0,
      maxWireVersion: 21,
    })
  const service = {
    run: (_body: unknown, _connection: number, reply: (message: Uint8Array) => void) => reply(hello()),
    failure: hello,
  }
  const clients = new Set<Socket>()
  const server = createServer((socket) => {
    clients.add(socket)
    new Connection(socket, service, clients.size)
  })
  onTestFinished(() => {
    for (const client of clients) client.destroy()
    server.close()
  })
  const port = await listen(server)
  members.push(port)
  return port
}

/** Whether whoever waits for it to drain is woken when it closes. */
function isWoken(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    let woken = false
    socket.once('drain', () => {
      woken = true
    })
    socket.once('close', () => setImmediate(() => resolve(woken)))
    socket.destroy()
  })
}

it('wakes writes to members that the address does not name, and nobody else who closes', async () => {
  const members: number[] = []
  const named = await startMember(false, members)
  const found = await startMember(true, members)
  const connection = await connectStore(`mongodb://127.0.0.1:${named}/test?replicaSet=set`)
  onTestFinished(() => connection.close())
  await connection.db?.admin().command({ ping: 1 })
  const to = (port: number) => [...sockets].filter((socket) => socket.remotePort === port)
  for (const port of [named, found]) {
    expect(to(port), `sockets to ${port}`).not.toEqual([])
    for (const socket of to(port)) expect(await isWoken(socket), `${port}`).toBe(true)
  }
  const stranger = createServer()
  onTestFinished(() => void stranger.close())
  const other = new Socket().connect(await listen(stranger), '127.0.0.1')
  await new Promise((resolve) => other.once('connect', resolve))
  expect(await isWoken(other)).toBe(false)
})

it('tells an address that cannot be read', async () => {
  await expect(connectStore('mongodb://')).rejects.toMatchObject({
    name: 'UnsuitableStoreError',
    cause: { name: 'MongoParseError' },
  })
})

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, createServer, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { serialize } from 'bson'
import { Connection } from 'embedded-mongo/wire/connection'
import { expect, it, onTestFinished } from 'vitest'
import { connectStore } from '../../src/store/mongo/connect.ts'
import { makeCertificate } from '../outbound/receiver.ts'

interface Member {
  port: number
  /** Reads no more, as a process does that is frozen. */
  freeze(): void
}

/** Starts the leader of a replica set, which answers every command with who leads the set. */
async function startMember(secure: boolean): Promise<Member> {
  const clients = new Set<Socket>()
  const serve = (socket: Socket): void => {
    clients.add(socket)
    new Connection(socket, service, clients.size)
  }
  const server = secure
    ? createTlsServer(await makeCertificate('store.example.org'), serve)
    : createServer(serve)
  onTestFinished(() => {
    for (const client of clients) client.destroy()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : expect.unreachable()
  const hello = () =>
    serialize({
      ok: 1,
      isWritablePrimary: true,
      setName: 'set',
      setVersion: 1,
      hosts: [`127.0.0.1:${port}`],
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
  return {
    port,
    freeze() {
      for (const client of clients) client.pause()
    },
  }
}

it.each([
  ['plain', ''],
  ['TLS', '&tls=true&tlsAllowInvalidCertificates=true'],
])('ends a write that a frozen store does not read (%s)', async (_name, options) => {
  const { port, freeze } = await startMember(options !== '')
  const connection = await connectStore(`mongodb://127.0.0.1:${port}/test?replicaSet=set${options}`, 1_000)
  onTestFinished(() => connection.close(true))
  const things = connection.collection('things')
  await things.insertOne({})
  freeze()
  // More than the buffers of both sides hold.
  const write = things.insertOne({ text: 'x'.repeat(15_000_000) })
  await expect(write).rejects.toMatchObject({ name: expect.stringMatching(/^Mongo/) })
})

it('wakes nobody who waits for another socket of the process, not even one that leads to the store', async () => {
  const own = new Set<Socket>()
  const collect = (message: unknown): void => {
    const { socket } = { socket: undefined, ...Object(message) }
    if (socket instanceof Socket) own.add(socket)
  }
  subscribe('net.client.socket', collect)
  onTestFinished(() => void unsubscribe('net.client.socket', collect))
  const { port } = await startMember(false)
  const connection = await connectStore(`mongodb://127.0.0.1:${port}/test?replicaSet=set`)
  onTestFinished(() => connection.close())
  await connection.collection('things').insertOne({})
  expect(own).not.toEqual(new Set())
  for (const socket of own) expect(await isWoken(socket)).toBe(true)
  const stranger = connect(port, '127.0.0.1')
  await once(stranger, 'connect')
  expect(await isWoken(stranger)).toBe(false)
})

/** Closes a socket. @returns whether a writer that waits for it to drain was woken */
async function isWoken(socket: Socket): Promise<boolean> {
  let woken = false
  socket.once('drain', () => {
    woken = true
  })
  socket.destroy()
  await once(socket, 'close')
  await new Promise(setImmediate)
  return woken
}

it('tells an address that cannot be read', async () => {
  await expect(connectStore('mongodb://')).rejects.toMatchObject({
    name: 'UnsuitableStoreError',
    cause: { name: 'MongoParseError' },
  })
})

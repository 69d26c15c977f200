import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, inject, it, onTestFinished } from 'vitest'
import { connectStore } from '../../src/store/mongo/connect.ts'
import { databaseUri } from '../support/service.ts'
import { startStopwatch } from '../support/stopwatch.ts'

const ROUNDS = 20
/** Far beyond what finding the store again takes, and within the driver's patience of 10 s. */
const LATE_MS = 9_000

const sockets = new Set<Socket>()
function collect(message: unknown): void {
  const { socket } = { socket: undefined, ...Object(message) }
  if (!(socket instanceof Socket)) return
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
}
beforeEach(() => subscribe('net.client.socket', collect))
afterEach(() => void unsubscribe('net.client.socket', collect))

it('lets commands come to an end, and finds the store again, when all connections close as they are sent', async () => {
  const connection = await connectStore(databaseUri(inject('storeUri'), 'test_reconnect'))
  onTestFinished(() => connection.close())
  const things = connection.collection<{ _id: string }>('things')
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => things.findOne({})))
    const stop = startStopwatch()
    for (const socket of sockets) socket.destroy()
    const writes = Array.from({ length: 4 }, (_, i) => things.insertOne({ _id: `${round} ${i}` }))
    await Promise.allSettled([...writes, things.findOne({}), things.findOne({})])
    expect(await things.findOne({ _id: `none ${round}` })).toBeNull()
    expect(stop()).toBeLessThan(LATE_MS)
  }
})

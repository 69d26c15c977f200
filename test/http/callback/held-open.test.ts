import { createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { newCaller, stored } from '../../support/caller.ts'
import { useService } from '../../support/service.ts'

const CALLBACKS = 12

it('T8, T9: a receiver that answers and holds the body open has four connections at most', async () => {
  const sockets = new Set<Socket>()
  let [accepted, peak] = [0, 0]
  let both = (): void => undefined
  const two = new Promise<void>((resolve) => {
    both = resolve
  })
  const receiver = createServer((socket) => {
    accepted += 1
    sockets.add(socket)
    // Counted once all that happened before is known here, too: that another one has ended.
    setImmediate(() => {
      peak = Math.max(peak, sockets.size)
      if (peak > 1) both()
    })
    for (const end of ['error', 'end', 'close']) socket.on(end, () => sockets.delete(socket))
    socket.once('data', async () => {
      // Not before there are two of them, however long the next callback takes to be made.
      await two
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{')
      socket.resume()
    })
  })
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    receiver.close()
  })
  const address = receiver.address()
  const port = address !== null && typeof address === 'object' ? address.port : expect.unreachable()

  const service = await useService({ work: true, env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  const sandbox = await newCaller(service, { sandbox: true })
  const callback_url = `http://127.0.0.1:${port}/hook`
  for (let made = 0; made < CALLBACKS; made += 1)
    await sandbox.read(await sandbox.createdId({ callback_url, sandbox_auto_decide_seconds: 0 }))

  const delivered = () => stored(service, 'deliveries').countDocuments({ state: 'delivered' })
  await expect.poll(delivered).toBe(CALLBACKS)
  expect(accepted).toBe(CALLBACKS)
  expect(peak).toBeGreaterThan(1)
  expect(peak).toBeLessThanOrEqual(4)
})

import type { Socket } from 'node:net'
import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startStopwatch } from '../support/stopwatch.ts'
import { guarded, messageTo, receive, receiveRaw, useSender } from './receiver.ts'

const DEADLINE_MS = 300
/** What a busy machine may add; far from the ten seconds of a sender that was not told otherwise. */
const SLACK_MS = 5000

/** Writes the chunk again and again, as fast as it is taken, until the connection is gone. */
function flood(socket: Socket, chunk: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

/** Writes one byte every 20 ms until the connection is gone. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('a'), 20)
  socket.once('close', () => clearInterval(timer))
}

describe('T8: receivers that take time', () => {
  const slow: [string, (socket: Socket) => void][] = [
    ['never answers', () => undefined],
    [
      'drips its status line',
      (socket) => {
        socket.write('HTTP/1.1 200 ')
        drip(socket)
      },
    ],
    [
      'drips its headers',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX: ')
        drip(socket)
      },
    ],
  ]
  it.each(slow)('one that %s is left at the deadline', async (_what, talk) => {
    const receiver = await receiveRaw((socket) => void socket.once('data', () => talk(socket)))
    const sender = useSender({ timeoutMs: DEADLINE_MS })
    const started = performance.now()
    const stop = startStopwatch()
    const { outcome, duration_ms } = await sender.send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    const took = performance.now() - started
    console.log(`${_what}: ${Math.round(took)} ms at a deadline of ${DEADLINE_MS} ms`)
    expect(outcome).toBe('timeout')
    expect(took).toBeGreaterThanOrEqual(DEADLINE_MS - 5)
    expect(stop()).toBeLessThan(DEADLINE_MS + SLACK_MS)
    expect(duration_ms).toBeGreaterThanOrEqual(DEADLINE_MS - 5)
    expect(duration_ms).toBeLessThanOrEqual(took + 1)
    await receiver.idle()
  })

  it('a TLS handshake that never ends and a name server that never answers count too', async () => {
    const receiver = await receiveRaw(() => undefined)
    const local = async () => [{ address: '127.0.0.1', family: 4 }]
    const handshake = guarded({ lookup: local, timeoutMs: DEADLINE_MS })
    const names = guarded({ lookup: () => new Promise(() => undefined), timeoutMs: DEADLINE_MS })
    const url = `https://slow.example.com:${receiver.port}/`
    const started = performance.now()
    const stop = startStopwatch()
    const outcomes = await Promise.all([handshake, names].map((sender) => sender.send(messageTo(url))))
    expect(stop()).toBeLessThan(DEADLINE_MS + SLACK_MS)
    const took = performance.now() - started
    for (const { outcome, duration_ms } of outcomes) {
      expect(outcome).toBe('timeout')
      expect(duration_ms).toBeLessThanOrEqual(took + 1)
    }
    await receiver.idle()
    expect(receiver.connections()).toBe(1)
  })

  it('the status line decides: a body that drips does not hold the worker, and is cut off at the deadline', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
        drip(socket)
      })
    })
    const stop = startStopwatch()
    // The answer itself must come before the deadline, also on a busy machine.
    const deadline = 10 * DEADLINE_MS
    const { outcome, duration_ms } = await useSender({ timeoutMs: deadline }).send(
      messageTo(`http://127.0.0.1:${receiver.port}/`),
    )
    expect(outcome).toBe('http_200')
    expect(duration_ms).toBeLessThan(deadline)
    await receiver.idle()
    expect(stop()).toBeLessThan(deadline + SLACK_MS)
  })
})

describe('T8: receivers that hold the connection open after their answer', () => {
  const holding: [string, string, (socket: Socket) => void][] = [
    [
      'never ends its body',
      '{}',
      (socket) =>
        void socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n')),
    ],
    [
      'drips its body',
      '{}',
      (socket) =>
        void socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
          drip(socket)
        }),
    ],
    [
      'answers in full and leaves the request unread',
      'a'.repeat(32 * 1024 * 1024),
      (socket) => {
        socket.pause()
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      },
    ],
  ]
  it.each(holding)(
    'one that %s is cut off a second later, and not told gone before',
    async (what, body, talk) => {
      let open = 0
      const receiver = await receiveRaw((socket) => {
        open += 1
        socket.once('close', () => {
          open -= 1
        })
        talk(socket)
      })
      const message = messageTo(`http://127.0.0.1:${receiver.port}/`, { body })
      const answered = startStopwatch()
      const { outcome, closed } = await useSender({ timeoutMs: 20_000 }).send(message)
      expect(answered()).toBeLessThan(SLACK_MS)
      const stop = startStopwatch()
      expect(outcome).toBe('http_200')
      const sooner = await Promise.race([closed?.then(() => 'gone'), pause(500, 'held')])
      expect([sooner, open]).toEqual(['held', 1])
      await closed
      const held = stop()
      console.log(`${what}: gone ${Math.round(held)} ms after the answer`)
      expect(held).toBeLessThan(SLACK_MS)
    },
  )

  it('closing the sender ends them at once', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.pause()
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
    const sender = useSender()
    const body = 'a'.repeat(32 * 1024 * 1024)
    const { closed } = await sender.send(messageTo(`http://127.0.0.1:${receiver.port}/`, { body }))
    let gone = false
    void closed?.then(() => {
      gone = true
    })
    sender.close()
    // At once is a few turns of the event loop, however long a busy machine takes over them; not a second.
    for (let turn = 0; turn < 10 && !gone; turn += 1) await setImmediate()
    expect(gone).toBe(true)
  })
})

describe('T8: receivers that send much', () => {
  it('a body without end is read for 64 kB, then the connection is gone', async () => {
    let socketOf: Socket | undefined
    const receiver = await receiveRaw((socket) => {
      socketOf = socket
      socket.once('data', () => {
        socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 5000000000\r\n\r\n')
        flood(socket, Buffer.alloc(16 * 1024))
      })
    })
    const stop = startStopwatch()
    const { outcome } = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome).toBe('http_500')
    await receiver.idle()
    const written = socketOf?.bytesWritten ?? 0
    const took = stop()
    console.log(`endless body: ${Math.round(took)} ms, the receiver got rid of ${written} bytes`)
    expect(took).toBeLessThan(SLACK_MS)
    // What the operating system's buffers swallow comes on top of the 64 kB.
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  it('a megabyte of headers is a failed connection, whatever status stood before them', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${`X-Much: ${'a'.repeat(990)}\r\n`.repeat(1000)}\r\n`)
      })
    })
    const stop = startStopwatch()
    const outcome = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    const took = stop()
    console.log(`1 MB of headers: ${Math.round(took)} ms`)
    expect(outcome).toEqual({ outcome: 'connect_failed', duration_ms: expect.any(Number) })
    expect(took).toBeLessThan(SLACK_MS)
    await receiver.idle()
  })

  it('informational answers without end are a failed connection', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.once('data', () => flood(socket, Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50))))
    })
    const stop = startStopwatch()
    const outcome = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome).toEqual({ outcome: 'connect_failed', duration_ms: expect.any(Number) })
    expect(stop()).toBeLessThan(SLACK_MS)
    await receiver.idle()
  })

  it('15 kB of headers are fine', async () => {
    const receiver = await receive(
      (_request, response) => void response.writeHead(200, { 'X-Much': 'a'.repeat(15_000) }).end(),
    )
    expect(await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))).toMatchObject({
      outcome: 'http_200',
    })
  })

  it('a receiver that breaks off in the body has answered all the same', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nab', () => socket.resetAndDestroy())
      })
    })
    expect(await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))).toMatchObject({
      outcome: 'http_200',
    })
    await receiver.idle()
  })
})

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import express, { type Response } from 'express'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EventStream, openEventStream } from '../../../src/http/event-stream.ts'

let server: Server
let port: number
let accept: (opened: { response: Response; events: EventStream }) => void

beforeAll(async () => {
  const app = express()
  app.get('/', (_request, response) =>
    accept({ response, events: openEventStream(response, { heartbeatMs: 20 }) }),
  )
  server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = Number(Object(server.address()).port)
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

async function open(): Promise<{ response: Response; events: EventStream; client: Socket }> {
  const opened = new Promise<{ response: Response; events: EventStream }>((resolve) => {
    accept = resolve
  })
  const client = connect(port, '127.0.0.1')
  // Closed after the answer: else it would be kept for five seconds.
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  return { ...(await opened), client }
}

describe('a stream of events', () => {
  it('sends comments while nothing happens, so that proxies keep it open', async () => {
    const { events, client } = await open()
    let text = ''
    while ((text.match(/: still here\n\n/g) ?? []).length < 3) text += String((await once(client, 'data'))[0])
    expect(text.indexOf('retry: 3000\n\n')).toBeLessThan(text.indexOf(': still here'))
    events.end()
    await once(client, 'end')
    client.destroy()
  })

  it('sends no comment after its end, also while a slow reader takes the rest, nor to a reader who left', async () => {
    const [slow, left] = [await open(), await open()]
    const errors: unknown[] = []
    slow.response.on('error', (error) => errors.push(error))
    slow.client.pause()
    // More than the system holds between two sockets: else the connection would be closed at once.
    void slow.events.send({ event: 'status', data: { text: 'x'.repeat(20_000_000) } })
    slow.events.end()
    left.client.destroy()
    await once(left.response, 'close')
    let written = 0
    left.response.write = () => {
      written += 1
      return true
    }
    const later = await open()
    for (let beats = 0; beats < 3; beats += 1) await once(later.client, 'data')
    later.client.destroy()
    expect({ errors, written, closed: slow.response.closed }).toEqual({
      errors: [],
      written: 0,
      closed: false,
    })
    let taken = 0
    slow.client.on('data', ({ length }: Buffer) => {
      taken += length
    })
    slow.client.resume()
    await once(slow.client, 'end')
    slow.client.destroy()
    expect(taken).toBeGreaterThan(20_000_000)
  })

  it('holds back what comes next until a slow reader has taken what was sent', async () => {
    const { events, client } = await open()
    client.resume()
    let sent = 0
    while (sent < 20) {
      await events.send({ event: 'status', id: String(sent), data: { text: 'x'.repeat(500_000) } })
      sent += 1
    }
    client.destroy()
    await events.send({ event: 'status', data: {} })
  })

  it('T67: cuts off a reader who takes nothing, and keeps at most one event for them', async () => {
    const { response, events, client } = await open()
    client.pause()
    const data = { text: 'x'.repeat(500_000) }
    let most = 0
    const gone = once(response, 'close')
    while (!response.destroyed) {
      const sent = events.send({ event: 'status', data })
      most = Math.max(most, response.writableLength)
      await sent
    }
    await gone
    expect(most).toBeLessThan(2 * 500_000)
    client.destroy()
  })
})

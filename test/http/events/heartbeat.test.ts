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

  it('sends no comment after its end', async () => {
    const { response, events, client } = await open()
    const errors: unknown[] = []
    response.on('error', (error) => errors.push(error))
    events.end()
    client.resume()
    await once(client, 'end')
    client.destroy()
    const later = await open()
    await once(later.client, 'data')
    await once(later.client, 'data')
    later.client.destroy()
    expect(errors).toEqual([])
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

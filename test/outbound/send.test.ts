import type { RequestListener } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { guarded, messageTo, receive, receiveRaw, SECRET, useSender } from './receiver.ts'

const ok: RequestListener = (_request, response) => void response.end('thanks')

describe('one attempt', () => {
  it('posts the exact bytes with the headers of both conventions', async () => {
    const receiver = await receive(ok)
    const at = new Date()
    const body = '{"comment":"Grüße 👋 \u2028","n":1}'
    const url = `http://127.0.0.1:${receiver.port}/hook?x=1`
    const outcome = await useSender().send(messageTo(url, { body, at, eventId: 'evt_7' }))
    expect(outcome).toEqual({
      outcome: 'http_200',
      duration_ms: expect.any(Number),
      closed: expect.any(Promise),
    })
    expect(receiver.requests).toHaveLength(1)
    const [request] = receiver.requests
    expect(request).toMatchObject({ method: 'POST', url: '/hook?x=1', body })
    const timestamp = String(Math.floor(at.getTime() / 1000))
    expect(request?.headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'Countersign/1.2.3 (+webhooks)',
      connection: 'close',
      'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
      'x-service-timestamp': timestamp,
      'webhook-id': 'evt_7',
      'webhook-timestamp': timestamp,
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
    const key = `whsec_${Buffer.from(SECRET).toString('base64')}`
    const headers = Object.fromEntries(Object.entries(request?.headers ?? {}).map(([k, v]) => [k, String(v)]))
    expect(new Webhook(key).verify(request?.body ?? '', headers)).toEqual(JSON.parse(body))
  })

  it.each([200, 204, 299, 400, 404, 410, 429, 500, 503])('tells status %i', async (status) => {
    const receiver = await receive((_request, response) => void response.writeHead(status).end())
    const { closed, ...outcome } = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome).toEqual({ outcome: `http_${status}`, duration_ms: expect.any(Number) })
    await closed
  })

  it.each([
    [503, '120', { retry_after: 120 }],
    [429, 'Sat, 21 Nov 2026 16:02:00 GMT', { retry_after: 120 }],
    [503, 'soon', {}],
    [200, '120', {}],
  ])('status %i with Retry-After %s', async (status, value, wanted) => {
    const receiver = await receive(
      (_request, response) => void response.writeHead(status, { 'Retry-After': value }).end(),
    )
    const { closed, ...outcome } = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome).toEqual({ outcome: `http_${status}`, duration_ms: expect.any(Number), ...wanted })
    await closed
  })

  it('lets go of the connection afterwards, though the receiver would keep it', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    expect(await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))).toMatchObject({
      outcome: 'http_200',
    })
    await receiver.idle()
    expect(receiver.connections()).toBe(1)
  })

  it('leaves no timer behind', async () => {
    const receiver = await receive(ok)
    const sender = useSender()
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    const url = `http://127.0.0.1:${receiver.port}/`
    for (let count = 0; count < 30; count += 1) await sender.send(messageTo(url))
    await receiver.idle()
    expect(timers() - before).toBeLessThan(10)
  })

  it('knows localhost when private receivers are allowed', async () => {
    const receiver = await receive(ok)
    const outcome = await useSender().send(messageTo(`http://localhost:${receiver.port}/`))
    expect(outcome.outcome).toBe('http_200')
  })

  it('takes informational answers for none', async () => {
    const receiver = await receiveRaw((socket) => {
      let left = 10
      const hint = (): void => {
        left -= 1
        socket.write(left > 0 ? 'HTTP/1.1 103 Early Hints\r\n\r\n' : 'HTTP/1.1 201 Created\r\n\r\n')
        if (left > 0) setImmediate(hint)
      }
      socket.once('data', hint)
    })
    const outcome = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome.outcome).toBe('http_201')
  })

  it('takes a switch of protocols for an answer, and lets go', async () => {
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'
    const receiver = await receiveRaw((socket) => void socket.once('data', () => socket.write(answer)))
    const outcome = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome.outcome).toBe('http_101')
    await receiver.idle()
  })
})

describe('failures', () => {
  const wrong: [string, string][] = [
    ['closes at once', ''],
    ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['speaks HTTP/0.9', '<h1>hello</h1>'],
    ['has no status', 'HTTP/1.1 \r\n\r\n'],
    ['breaks off in the headers', 'HTTP/1.1 200 OK\r\nContent-Len'],
    ['sends both lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ]
  it.each(wrong)('a receiver that %s is a failed connection', async (_what, answer) => {
    const receiver = await receiveRaw((socket) => void socket.once('data', () => socket.end(answer)))
    const outcome = await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))
    expect(outcome).toEqual({ outcome: 'connect_failed', duration_ms: expect.any(Number) })
  })

  it.each([
    ['no URL', 'nonsense'],
    ['another scheme', 'file:///etc/passwd'],
    ['our own origin', 'https://approve.example.org/'],
  ])('%s is blocked', async (_what, url) => {
    expect(await useSender().send(messageTo(url))).toMatchObject({ outcome: 'blocked' })
  })

  it('never throws, not even for an id that no header can hold', async () => {
    const receiver = await receive(ok)
    const message = messageTo(`http://127.0.0.1:${receiver.port}/`, { eventId: 'evt\r\nX-Evil: 1' })
    expect(await useSender().send(message)).toMatchObject({ outcome: 'connect_failed' })
    expect(receiver.connections()).toBe(0)
  })

  it('a name that does not resolve is a failed connection', async () => {
    const lookup = async () =>
      Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }))
    expect(await guarded({ lookup }).send(messageTo('https://gone.example.com/'))).toMatchObject({
      outcome: 'connect_failed',
    })
    const empty = guarded({ lookup: async () => [] })
    expect(await empty.send(messageTo('https://empty.example.com/'))).toMatchObject({
      outcome: 'connect_failed',
    })
  })
})

describe('closing', () => {
  it('cuts off what is under way, and sends nothing any more', async () => {
    const receiver = await receiveRaw((socket) => {
      socket.on('data', () => {
        sender.close()
      })
    })
    const sender = useSender()
    const message = messageTo(`http://127.0.0.1:${receiver.port}/`)
    expect(await sender.send(message)).toMatchObject({ outcome: 'interrupted' })
    await receiver.idle()
    expect(await sender.send(message)).toMatchObject({ outcome: 'interrupted' })
    expect(receiver.connections()).toBe(1)
  })
})

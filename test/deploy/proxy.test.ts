import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { REFUSALS, refusal } from '../../src/domain/errors.ts'
import { createTimelyServer } from '../../src/serve.ts'
import { closeServer, listenLocally } from '../support/local-server.ts'
import { freePort } from '../support/service.ts'
import { useNameServer } from './name-server.ts'
import { describeWithNginx, nginxResolves, shipped, useCertificate, useProxy } from './nginx.ts'

/** A process that stands in for the service, so that a test decides what it answers and when. */
async function useProcess(
  listener: RequestListener,
  at?: { port: number; host: string },
): Promise<{ address: string }> {
  const { port, host } = at ?? { port: await freePort(), host: '127.0.0.1' }
  const server = createServer(listener).listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { address: `${host}:${port}` }
}

/** Reads a body to its end. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

/** Answers with what arrived. */
const echo: RequestListener = async (request, response) => {
  const body = await bodyOf(request)
  response.setHeader('X-Request-Id', 'id-of-the-service')
  response.end(JSON.stringify({ url: request.url, headers: request.headers, length: body.length }))
}

describeWithNginx('the proxy of docker-compose.yml', () => {
  it('appends the address of whoever connected, and overwrites what else a caller claims (T65)', async () => {
    const { address } = await useProcess(echo)
    const proxy = await useProxy({ processes: [address] })
    const forged = {
      'X-Forwarded-For': '192.0.2.1, 192.0.2.2',
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'evil.example',
      Forwarded: 'for=192.0.2.3',
    }
    const answer = await fetch(`http://localhost:${proxy.port}/a/req_1?b=c%2Fd`, { headers: forged })
    const { url, headers } = JSON.parse(await answer.text())
    expect(url).toBe('/a/req_1?b=c%2Fd')
    expect(headers).toMatchObject({
      host: `localhost:${proxy.port}`,
      'x-forwarded-for': '192.0.2.1, 192.0.2.2, 127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': `localhost:${proxy.port}`,
    })
    expect(headers).not.toHaveProperty('forwarded')
  })

  it('logs the path without its query, and the request id that the service gave', async () => {
    const { address } = await useProcess(echo)
    const proxy = await useProxy({ processes: [address] })
    const answer = await fetch(`http://localhost:${proxy.port}/a/req_1?secret=1`, {
      headers: { Authorization: 'Bearer sa_live_x', 'X-Request-Id': 'chosen-by-the-caller' },
    })
    expect(answer.headers.get('x-request-id')).toBe('id-of-the-service')
    await expect.poll(proxy.log).toMatch(/"GET \/a\/req_1" 200 .* request_id=id-of-the-service$/m)
    expect(proxy.log()).not.toMatch(/secret|sa_live|chosen/)
  })

  it('T49: logs no id of a bootstrap, which collects the key, also while the service does not answer', async () => {
    const { address } = await useProcess(echo)
    const proxy = await useProxy({ processes: [address] })
    const away = await useProxy({ processes: [`127.0.0.1:${await freePort()}`] })
    for (const [{ port, log }, status] of [
      [proxy, 200],
      [away, 503],
    ] as const) {
      for (const path of [
        '/boot_taken/status',
        '/%62oot_taken/status?x=boot_taken',
        '/boot_taken/STATUS',
        '',
      ])
        expect((await fetch(`http://localhost:${port}/api/v1/bootstrap${path}`)).status).toBe(status)
      // nginx writes its lines in order.
      await expect.poll(log).toContain(`"GET /api/v1/bootstrap" ${status} `)
      expect(log()).not.toMatch(/oot_taken/i)
    }
  })

  it('passes every event of a stream on as it comes, and lets go of the service when the reader leaves', async () => {
    let stream: ServerResponse | undefined
    const { address } = await useProcess((_request, response) => {
      stream = response
      const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }
      response.writeHead(200, headers).write('data: first\n\n')
    })
    const proxy = await useProxy({ processes: [address] })
    const leave = new AbortController()
    const answer = await fetch(`http://localhost:${proxy.port}/api/v1/approvals/req_1/events`, {
      signal: leave.signal,
    })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('data: first\n\n')
    stream?.write('data: second\n\n')
    expect((await reader?.read())?.value).toBe('data: second\n\n')
    const closed = once(stream ?? expect.unreachable(), 'close')
    leave.abort()
    await closed
  })

  it('waits longer than the longest wait of the interface, 60 seconds', () => {
    expect(shipped('service.conf').match(/proxy_read_timeout .*/g)).toEqual(['proxy_read_timeout 75s;'])
  })

  it('lets bodies through that the service must judge itself, and refuses huge ones in its form', async () => {
    const seen: string[] = []
    const { address } = await useProcess((request, response) => {
      seen.push(request.url ?? '')
      echo(request, response)
    })
    const proxy = await useProxy({ processes: [address] })
    const post = (path: string, length: number) =>
      fetch(`http://localhost:${proxy.port}${path}`, { method: 'POST', body: 'x'.repeat(length) })
    expect(await (await post('/large', 1536 * 1024)).json()).toMatchObject({ length: 1536 * 1024 })
    const huge = await post('/huge', 1536 * 1024 + 1)
    expect([huge.status, huge.headers.get('content-type')]).toEqual([413, 'application/json'])
    expect(await huge.json()).toEqual({
      error: 'payload_too_large',
      message: refusal('payload_too_large').publicMessage,
    })
    expect(seen).toEqual(['/large'])
  })

  it('passes the refusals of the service on as they are', async () => {
    const { address } = await useProcess((request, response) => {
      const status = Number(request.url?.slice(1))
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(`{"own":${status}}`)
    })
    const proxy = await useProxy({ processes: [address] })
    for (const status of [401, 413, 429, 500, 502, 503, 504]) {
      const answer = await fetch(`http://localhost:${proxy.port}/${status}`)
      expect([answer.status, await answer.text()]).toEqual([status, `{"own":${status}}`])
    }
  })

  it('answers 503 in the form of the service while no process listens', async () => {
    const proxy = await useProxy({ processes: [`127.0.0.1:${await freePort()}`] })
    const answer = await fetch(`http://localhost:${proxy.port}/api/v1/approvals/req_1`)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await answer.json()).toEqual({
      error: 'unavailable',
      message: 'The service does not answer; retry in 2 seconds.',
      retry_after: 2,
    })
    expect(REFUSALS.unavailable[0]).toBe(503)
  })

  it('answers in the form of the service, too, where it has no connection left', async () => {
    const { address } = await useProcess((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: first\n\n')
    })
    // A stream takes two: with an odd number free the last caller is let in, and the way on is missing.
    const told = await Promise.all(
      [14, 15].map(async (connections) => {
        const proxy = await useProxy({ processes: [address], connections })
        const answers: Response[] = []
        for (let asked = 0; asked < 8; asked += 1) {
          const answer = await fetch(`http://localhost:${proxy.port}/api/v1/x`).catch(() => undefined)
          if (answer !== undefined) answers.push(answer)
        }
        const refused = answers.filter(({ status }) => status !== 200)
        return Promise.all(refused.map(async (answer) => [answer.status, await answer.json()]))
      }),
    )
    expect(told.flat().length).toBeGreaterThan(0)
    for (const one of told.flat())
      expect(one).toEqual([503, expect.objectContaining({ error: 'unavailable' })])
  })

  it('moves a read to the other process when one dies, but never sends a request that changes something twice', async () => {
    const taken: string[] = []
    const dying = await useProcess(async (request, response) => {
      await bodyOf(request)
      taken.push(`dying ${request.method}`)
      response.destroy()
    })
    const living = await useProcess(async (request, response) => {
      taken.push(`living ${request.method} ${await bodyOf(request)}`)
      response.end('done')
    })
    const reads = await useProxy({ processes: [dying.address, living.address] })
    const read = await fetch(`http://localhost:${reads.port}/x`)
    expect([read.status, await read.text()]).toEqual([200, 'done'])
    expect(taken.splice(0)).toEqual(['dying GET', 'living GET '])

    const writes = await useProxy({ processes: [dying.address, living.address] })
    const write = await fetch(`http://localhost:${writes.port}/x`, { method: 'POST', body: 'b' })
    expect(write.status).toBe(503)
    expect(taken.splice(0)).toEqual(['dying POST'])

    const gone = await useProxy({ processes: [`127.0.0.1:${await freePort()}`, living.address] })
    const unsent = await fetch(`http://localhost:${gone.port}/x`, { method: 'POST', body: 'b' })
    expect([unsent.status, await unsent.text()]).toEqual([200, 'done'])
    expect(taken).toEqual(['living POST b'])
  })

  it.skipIf(!nginxResolves())(
    'follows the processes that the name server tells, as they come and go (nginx >= 1.27.3)',
    async () => {
      const port = await freePort()
      const hosts = ['127.0.0.2', '127.0.0.3', '127.0.0.4']
      for (const host of hosts) await useProcess((_request, response) => response.end(host), { port, host })
      const names = await useNameServer(hosts.slice(0, 2))
      const upstream = shipped('upstream.conf')
        .replace('resolver 127.0.0.11', `resolver 127.0.0.1:${names.port}`)
        .replace('countersign:3000', `countersign:${port}`)
      const proxy = await useProxy({ processes: [], upstream })
      const answering = async () => {
        const ask = async () => (await fetch(`http://localhost:${proxy.port}/`)).text()
        return [...new Set([await ask(), await ask(), await ask(), await ask()])].sort()
      }
      await expect.poll(answering).toEqual(hosts.slice(0, 2))
      names.addresses = hosts.slice(1)
      await expect.poll(answering).toEqual(hosts.slice(1))
    },
  )

  it('ends TLS with docker-compose.https.yml, and leads plain http there', async () => {
    const { tlsDir, certificate } = await useCertificate()
    const { address } = await useProcess(echo)
    const proxy = await useProxy({ processes: [address], listen: 'listen-https.conf', tlsDir })

    const plain = await fetch(`http://localhost:${proxy.port}/a/req_1?x=1`, { redirect: 'manual' })
    expect([plain.status, plain.headers.get('location')]).toEqual([308, 'https://localhost/a/req_1?x=1'])

    const outgoing = httpsRequest({
      host: 'localhost',
      port: proxy.tlsPort,
      path: '/a/req_1',
      ca: certificate,
    }).end()
    const [answer]: IncomingMessage[] = await once(outgoing, 'response')
    const { headers } = JSON.parse(await bodyOf(answer ?? expect.unreachable()))
    expect(headers).toMatchObject({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' })
  })
})

describeWithNginx('a proxy that keeps idle connections to the service', () => {
  it('loses no POST, and opens no connection again after a pause longer than a head may take', async () => {
    const server = createTimelyServer(echo, 90_000, { headersTimeout: 200, requestTimeout: 200 })
    let opened = 0
    server.on('connection', () => {
      opened += 1
    })
    const address = new URL(await listenLocally(server)).host
    onTestFinished(() => closeServer(server))
    const http = `
      upstream pooled { server ${address}; keepalive 32; }
      server {
        listen 3000;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        location / { proxy_pass http://pooled; }
      }`
    const proxy = await useProxy({ processes: [], http })
    const post = async () =>
      (await fetch(`http://localhost:${proxy.port}/`, { method: 'POST', body: 'b' })).status
    const posts = () => Promise.all(Array.from({ length: 20 }, post))
    const all = Array(20).fill(200)
    expect(await posts()).toEqual(all)
    const before = opened

    // The server looks for slow clients once a second: when it cuts this one off, it has looked at the idle ones as well.
    const slow = connect(Number(address.split(':')[1]), '127.0.0.1', () => slow.write('POST / HTTP/1.1'))
    const [answer] = await once(slow, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
    slow.destroy()
    // One by one they fit into the connections there are.
    for (let sent = 0; sent < 20; sent += 1) expect(await post()).toBe(200)
    expect(opened).toBe(before + 1)
  })
})

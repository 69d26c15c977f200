import { createServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Certificate, guarded, makeCertificate, messageTo, receive } from './receiver.ts'

const NAME = 'hooks.example.com'
let known: Certificate
let stranger: Certificate
beforeAll(async () => {
  ;[known, stranger] = await Promise.all([makeCertificate(NAME), makeCertificate(NAME)])
})

const local = async () => [{ address: '127.0.0.1', family: 4 }]

/** Sets variables of this process until the test ends. */
function setEnvironment(values: Record<string, string>): void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, values)
  onTestFinished(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
}

describe('https:', () => {
  it('reaches a receiver whose certificate is good, and names it in the handshake', async () => {
    const names: unknown[] = []
    const receiver = await receive((request, response) => {
      names.push((request.socket as TLSSocket).servername)
      response.end()
    }, known)
    const sender = guarded({ lookup: local, ca: known.cert })
    for (const host of [NAME, `${NAME}.`])
      expect(await sender.send(messageTo(`https://${host}:${receiver.port}/hook`))).toMatchObject({
        outcome: 'http_200',
      })
    expect(names).toEqual([NAME, NAME])
    expect(receiver.requests.map(({ headers }) => headers.host)).toEqual([
      `${NAME}:${receiver.port}`,
      `${NAME}.:${receiver.port}`,
    ])
  })

  it('looks at the certificate on every attempt: none is resumed', async () => {
    const reused: boolean[] = []
    const receiver = await receive((request, response) => {
      reused.push((request.socket as TLSSocket).isSessionReused())
      response.end()
    }, known)
    const sender = guarded({ lookup: local, ca: known.cert })
    for (let attempt = 0; attempt < 3; attempt += 1)
      await sender.send(messageTo(`https://${NAME}:${receiver.port}/`))
    expect(reused).toEqual([false, false, false])
    expect(receiver.connections()).toBe(3)
  })

  it('T10: tells nothing to a receiver with an unknown certificate, one for another name, or none', async () => {
    const unknown = await receive((_request, response) => void response.end(), stranger)
    const other = await receive((_request, response) => void response.end(), known)
    const plain = await receive((_request, response) => void response.end())
    const sender = guarded({ lookup: local, ca: known.cert })
    for (const url of [
      `https://${NAME}:${unknown.port}/`,
      `https://evil.example.com:${other.port}/`,
      `https://${NAME}:${plain.port}/`,
    ])
      expect(await sender.send(messageTo(url))).toEqual({
        outcome: 'connect_failed',
        duration_ms: expect.any(Number),
      })
    expect([unknown, other, plain].flatMap(({ requests }) => requests)).toEqual([])
    expect(unknown.connections()).toBe(1)
  })

  it('T10: NODE_TLS_REJECT_UNAUTHORIZED=0 changes nothing', async () => {
    setEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    const receiver = await receive((_request, response) => void response.end(), stranger)
    const sender = guarded({ lookup: local })
    expect(await sender.send(messageTo(`https://${NAME}:${receiver.port}/`))).toMatchObject({
      outcome: 'connect_failed',
    })
    expect(receiver.requests).toEqual([])
  })

  it('T10: proxy variables change nothing', async () => {
    let proxied = 0
    const proxy = createServer((socket) => {
      proxied += 1
      socket.destroy()
    })
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
    onTestFinished(() => void proxy.close())
    const address = proxy.address()
    const url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']
    setEnvironment({ ...Object.fromEntries(names.map((name) => [name, url])), NODE_USE_ENV_PROXY: '1' })
    const receiver = await receive((_request, response) => void response.end(), known)
    const sender = guarded({ lookup: local, ca: known.cert })
    expect(await sender.send(messageTo(`https://${NAME}:${receiver.port}/`))).toMatchObject({
      outcome: 'http_200',
    })
    expect([proxied, receiver.requests.length]).toEqual([0, 1])
  })
})

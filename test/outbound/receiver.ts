import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import type { SenderOptions } from '../../src/outbound/guarded-post.ts'
import { createWebhookSender } from '../../src/outbound/guarded-post.ts'
import type { WebhookSender } from '../../src/ports/ports.ts'

/** A key and a certificate that is its own authority. */
export interface Certificate {
  key: string
  cert: string
}

/** Something on 127.0.0.1 that is called. */
export interface Receiver {
  port: number
  /** Connections that came in so far. */
  connections(): number
  /** Bytes that came in so far. */
  received(): number
  /** Resolves when somebody was connected, and no connection is open any more. */
  idle(): Promise<void>
  /** Whole requests, in the order in which they ended. */
  requests: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[]
}

/** Makes one by openssl, for that name. */
export async function makeCertificate(name: string): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-tls-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    const files = ['-keyout', key, '-out', cert, '-subj', `/CN=${name}`]
    const names = ['-addext', `subjectAltName=DNS:${name}`]
    await promisify(execFile)('openssl', ['req', '-x509', ...curve, ...files, ...names])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Collects requests and answers them; over TLS when it is given a certificate. */
export async function receive(answer: RequestListener, tls?: Certificate): Promise<Receiver> {
  const requests: Receiver['requests'] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      requests.push({ method, url, headers, body: Buffer.concat(chunks).toString('utf8') })
      answer(request, response)
    })
  }
  const server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener)
  return listening(server, requests)
}

/** Answers byte by byte, however it likes. */
export function receiveRaw(talk: (socket: Socket) => void): Promise<Receiver> {
  return listening(createTcpServer(talk), [])
}

async function listening(server: Server, requests: Receiver['requests']): Promise<Receiver> {
  const open = new Set<Socket>()
  let connections = 0
  let received = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    open.add(socket)
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    socket.on('error', () => undefined)
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0) server.emit('idle')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    connections: () => connections,
    received: () => received,
    idle: () =>
      new Promise((done) => {
        if (connections > 0 && open.size === 0) done()
        else server.once('idle', () => done())
      }),
    requests,
  }
}

/** The shown form of a secret: 64 hex characters. */
export const SECRET = '0123456789abcdef'.repeat(4)

export type Message = Parameters<WebhookSender['send']>[0]

export function messageTo(url: string, fields: Partial<Message> = {}): Message {
  const at = new Date('2026-11-21T16:00:00.500Z')
  return { url, eventId: 'evt_1', body: '{"request_id":"req_1"}', at, secrets: [SECRET], ...fields }
}

/** A sender that ends with the test: of development, with private receivers allowed, unless told otherwise. */
export function useSender(options: Partial<SenderOptions> = {}): WebhookSender {
  const sender = createWebhookSender({
    baseUrl: 'https://approve.example.org',
    production: false,
    allowPrivate: true,
    ports: [443],
    timeoutMs: 10_000,
    version: '1.2.3',
    ...options,
  })
  onTestFinished(() => sender.close())
  return sender
}

/**
 * The address check switched on, with 127.0.0.1 in the part of a public address: what it lets through must be on this machine,
 * or the tests would call strangers.
 */
export function guarded(options: Partial<SenderOptions> = {}): WebhookSender {
  return useSender({ allowPrivate: false, isPublic: (address) => address === '127.0.0.1', ...options })
}

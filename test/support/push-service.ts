import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { decryptPush, type PushSecrets } from './decrypt-push.ts'
import { untilHolds } from './patience.ts'

/** A message that the push service accepted, as the browser reads it. */
interface PushedMessage {
  payload: { title: string; body: string; url: string; tag: string }
  ttl: number
  urgency: string | undefined
  topic: string | undefined
  /** Claims of the VAPID token. */
  claims: { aud: string; exp: number; sub: string }
}

/** A browser that subscribed. */
export interface FakeBrowser {
  /** As `PushSubscription.toJSON()` gives it. */
  subscription: { endpoint: string; expirationTime: null; keys: { p256dh: string; auth: string } }
  /** What it would show, in order. */
  readonly messages: PushedMessage[]
  /** Every POST for it, accepted or not, by the status it was answered with. */
  readonly answers: number[]
  /** The subscription is over: 410 from now on. */
  unsubscribe(): void
}

/** What to answer instead of taking a message. */
interface Refusing {
  status: number
  headers?: Record<string, string>
}

/** A push service of our own: takes what a real one takes, and says no as one does. */
export interface PushService {
  url: string
  subscribe(applicationServerKey: string): FakeBrowser
  /** Asked before each message; undefined takes it. */
  behave(choose: (browser: FakeBrowser) => Refusing | undefined | Promise<Refusing | undefined>): void
  /** Why messages were refused that no service would take. */
  readonly problems: string[]
  until(what: string, condition: () => boolean, ms?: number): Promise<void>
  close(): Promise<void>
}

/** RFC 8291 §4: push services need not take more. */
const MOST_BYTES = 4096

/** RFC 8292 §2: no token is good for longer. */
const LONGEST_TOKEN_SECONDS = 24 * 3600

interface Subscriber extends FakeBrowser {
  secrets: PushSecrets
  serverKey: string
  gone: boolean
}

/** Starts one on 127.0.0.1. */
export async function startPushService(): Promise<PushService> {
  const subscribers = new Map<string, Subscriber>()
  const problems: string[] = []
  const watchers = new Set<() => void>()
  const sockets = new Set<Socket>()
  let choose: Parameters<PushService['behave']>[0] = () => undefined
  let origin = ''
  const server = createServer((request, response) => {
    // Whoever sends may go away in the middle of it: that is no failure of the test.
    void take(request, response).catch(() => response.destroy())
  })
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(request)
    const subscriber = subscribers.get(request.url ?? '')
    const answer = await judge()
    subscriber?.answers.push(answer.status)
    response.writeHead(answer.status, answer.headers).end()
    for (const look of [...watchers]) look()

    async function judge(): Promise<Refusing> {
      if (subscriber === undefined) return { status: 404 }
      if (subscriber.gone) return { status: 410 }
      if (body.length > MOST_BYTES) return { status: 413 }
      const refused = await choose(subscriber)
      if (refused !== undefined) return refused
      try {
        subscriber.messages.push(readMessage(request.method ?? '', request.headers, body, subscriber, origin))
        return { status: 201 }
      } catch (error) {
        problems.push(String(error))
        return { status: 400 }
      }
    }
  }
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  origin = await listen(server)
  return {
    url: origin,
    problems,
    subscribe(serverKey) {
      const ecdh = createECDH('prime256v1')
      ecdh.generateKeys()
      const auth = randomBytes(16)
      const path = `/push/${randomBytes(24).toString('base64url')}`
      const keys = { p256dh: ecdh.getPublicKey().toString('base64url'), auth: auth.toString('base64url') }
      const subscriber: Subscriber = {
        subscription: { endpoint: `${origin}${path}`, expirationTime: null, keys },
        messages: [],
        answers: [],
        unsubscribe: () => {
          subscriber.gone = true
        },
        secrets: { ecdh, auth },
        serverKey,
        gone: false,
      }
      subscribers.set(path, subscriber)
      return subscriber
    },
    behave: (next) => {
      choose = next
    },
    until: (what, condition, ms) => untilHolds(watchers, what, condition, ms),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Takes a message as RFC 8030 and RFC 8292 say. @throws with the reason why it would not be taken */
function readMessage(
  method: string,
  headers: IncomingHttpHeaders,
  body: Buffer,
  { secrets, serverKey }: Subscriber,
  origin: string,
): PushedMessage {
  if (method !== 'POST') throw new Error(`method ${method}`)
  if (headers['content-encoding'] !== 'aes128gcm') throw new Error('not aes128gcm')
  if (!/^\d+$/.test(String(headers.ttl))) throw new Error('no TTL')
  const topic = headers.topic === undefined ? undefined : String(headers.topic)
  if (topic !== undefined && !/^[\w-]{1,32}$/.test(topic)) throw new Error('a bad Topic')
  return {
    payload: JSON.parse(decryptPush(secrets, body)),
    ttl: Number(headers.ttl),
    urgency: headers.urgency === undefined ? undefined : String(headers.urgency),
    topic,
    claims: readVapid(String(headers.authorization), serverKey, origin),
  }
}

/** RFC 8292 §3: `vapid t=<JWT>, k=<key>`, signed with ES256 by the key that the subscription is bound to. */
function readVapid(authorization: string, serverKey: string, origin: string): PushedMessage['claims'] {
  const [, token = '', key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? []
  if (key !== serverKey) throw new Error('another key than the one subscribed with')
  const [head = '', payload = '', signature = ''] = token.split('.')
  const header = JSON.parse(Buffer.from(head, 'base64url').toString())
  if (header.alg !== 'ES256') throw new Error(`algorithm ${header.alg}`)
  const point = Buffer.from(key, 'base64url')
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const publicKey = createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' },
    format: 'jwk',
  })
  const signed = Buffer.from(`${head}.${payload}`)
  const good = verify(
    'sha256',
    signed,
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  if (!good) throw new Error('a wrong signature')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const now = Date.now() / 1000
  if (claims.aud !== origin) throw new Error(`audience ${claims.aud}`)
  if (!(claims.exp > now && claims.exp <= now + LONGEST_TOKEN_SECONDS))
    throw new Error(`expiry ${claims.exp}`)
  if (!/^(mailto:|https:)/.test(claims.sub)) throw new Error(`subject ${claims.sub}`)
  return claims
}

async function readAll(request: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (address === null || typeof address !== 'object') return reject(new Error('no port'))
      resolve(`http://127.0.0.1:${address.port}`)
    })
  })
}

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { untilHolds } from './patience.ts'
import { type Signed, verdictOn } from './receiver-verdict.ts'
import { freePort } from './service.ts'

/** What a receiver does with a delivery. */
export type Behaviour =
  | { kind: 'answer'; status: number; headers?: Record<string, string> }
  /** Says nothing until the sender gives up. */
  | { kind: 'stall' }
  /** Closes the connection; the delivery was not taken. */
  | { kind: 'drop' }
  /** Takes the delivery, then closes the connection: the sender cannot know. */
  | { kind: 'take-and-drop' }

/** A delivery as it came in, before anything was done with it. */
export interface Arrival {
  path: string
  /** The header `webhook-id`. */
  eventId: string
  /** 1 for the first arrival of this id at this path, then 2, 3 … */
  attempt: number
  headers: IncomingHttpHeaders
  /** The raw bytes. */
  body: Buffer
  /** Local clock, in milliseconds. */
  at: number
}

/** A delivery and what became of it. */
export interface Received extends Arrival {
  /** Absent while the receiver makes up its mind. */
  behaviour?: Behaviour
  /** The receiver acted on it: it answered 2xx, or closed the connection after taking it. */
  taken: boolean
  /** The whole answer went out to a connection that was still open. */
  answered: boolean
  signed: Signed
}

/** A webhook receiver on a port of its own, in this process: killing services does not touch it. */
export interface Receiver {
  /** `http://<host>:<port><path>` */
  url(path: string): string
  /** Everything that arrived, in order. */
  readonly received: readonly Received[]
  /** Most deliveries under way at once, by the `Host` header. */
  readonly peak: ReadonlyMap<string, number>
  /** Connections accepted so far. */
  readonly connections: number
  /** The secrets that deliveries to this path may be signed with, hex as shown to their owner. */
  trust(path: string, ...secrets: string[]): void
  /** Decides what to do with each delivery from now on; without it all are answered 200. */
  behave(choose: (arrival: Arrival) => Behaviour | Promise<Behaviour>): void
  /** Resolves as soon as the condition holds; it is looked at after each event. @throws after `ms` */
  until(what: string, condition: () => boolean, ms?: number): Promise<void>
  /** Stops listening and cuts every connection, as a receiver that crashed. */
  die(): Promise<void>
  /** Listens again where it did before. */
  revive(): Promise<void>
  close(): Promise<void>
}

const OK: Behaviour = { kind: 'answer', status: 200 }

/** Starts one. `host`: an address of this machine. */
export async function startReceiver(host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = []
  const peak = new Map<string, number>()
  const underWay = new Map<string, number>()
  const attempts = new Map<string, number>()
  const secrets = new Map<string, string[]>()
  const sockets = new Set<Socket>()
  const watchers = new Set<() => void>()
  let choose: (arrival: Arrival) => Behaviour | Promise<Behaviour> = () => OK
  let connections = 0
  const changed = (): void => {
    for (const look of [...watchers]) look()
  }

  const server: Server = createServer(async (request, response) => {
    const name = request.headers.host ?? ''
    const now = (underWay.get(name) ?? 0) + 1
    underWay.set(name, now)
    peak.set(name, Math.max(now, peak.get(name) ?? 0))
    response.once('close', () => underWay.set(name, (underWay.get(name) ?? 0) - 1))
    const body = await readBody(request)
    if (body === undefined) return
    const path = request.url ?? ''
    const eventId = String(request.headers['webhook-id'] ?? '')
    const attempt = (attempts.get(`${path} ${eventId}`) ?? 0) + 1
    attempts.set(`${path} ${eventId}`, attempt)
    const { headers } = request
    const arrival: Arrival = { path, eventId, attempt, headers, body, at: Date.now() }
    const signed = verdictOn(arrival, secrets.get(path) ?? [])
    const entry: Received = { ...arrival, signed, taken: false, answered: false }
    received.push(entry)
    changed()
    const behaviour = await choose(arrival)
    entry.behaviour = behaviour
    entry.taken =
      behaviour.kind === 'take-and-drop' ||
      (behaviour.kind === 'answer' && behaviour.status >= 200 && behaviour.status < 300)
    if (behaviour.kind === 'answer') {
      response.once('finish', () => {
        entry.answered = !request.socket.destroyed
        changed()
      })
      response.writeHead(behaviour.status, behaviour.headers).end()
    } else if (behaviour.kind !== 'stall') {
      request.socket.destroy()
    }
    changed()
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })

  // Not one that the kernel picks: while the receiver is dead, it could give that to any connection that goes out.
  const port = await freePort()
  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        resolve()
      })
    })
  const die = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await listen()
  return {
    url: (path) => `http://${host}:${port}${path}`,
    received,
    peak,
    get connections() {
      return connections
    },
    trust: (path, ...known) => void secrets.set(path, known),
    behave: (next) => {
      choose = next
    },
    until: (what, condition, ms) => untilHolds(watchers, what, condition, ms),
    die,
    revive: listen,
    close: die,
  }
}

/** The whole body, or undefined when the sender went away before its end. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
  } catch {
    return undefined
  }
  return Buffer.concat(chunks)
}

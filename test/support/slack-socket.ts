import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { PATIENCE_MS, untilHolds } from './patience.ts'
import { fresh } from './slack-driver.ts'
import { startStopwatch } from './stopwatch.ts'

/** What came back for an envelope. */
interface Acknowledgement {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads freely; a wrong path fails the assertion
  payload: any
  /** The same as it came. */
  text: string
  ms: number
}

interface Envelope {
  envelope_id?: string
  retry_attempt?: number
  retry_reason?: string
}

/** The other end of Socket Mode, on 127.0.0.1: greets, sends envelopes and expects each to be acknowledged. */
export interface SlackSocket {
  /** What `apps.connections.open` should answer. */
  url: string
  /** Every connection that there ever was. */
  readonly connections: number
  /** Those that are open. */
  readonly open: number
  /** Resolves when a connection that was greeted is open. */
  greeted(): Promise<void>
  /** How long it took is told; @throws only when nothing comes at all */
  say(type: string, payload: Record<string, unknown> | null, envelope?: Envelope): Promise<Acknowledgement>
  /** Sends a text as it is. */
  utter(text: string): void
  /** Asks the client to connect again, as Slack does every few hours. */
  refresh(): void
  /** Cuts every connection. */
  drop(): void
  close(): Promise<void>
}

/** Starts one; close it yourself. */
export async function startSlackSocket(): Promise<SlackSocket> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const address: AddressInfo | string | null = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const sockets = new Set<WebSocket>()
  const waiting = new Map<string, (payload: unknown) => void>()
  let connections = 0
  const watchers = new Set<() => void>()

  server.on('connection', (socket) => {
    connections += 1
    socket.on('message', (data) => {
      const { envelope_id, payload } = JSON.parse(String(data))
      waiting.get(envelope_id)?.(payload)
      waiting.delete(envelope_id)
    })
    socket.on('close', () => sockets.delete(socket))
    const hello = { type: 'hello', num_connections: 1, connection_info: { app_id: 'A0COUNTER' } }
    socket.send(JSON.stringify(hello), () => {
      sockets.add(socket)
      for (const look of [...watchers]) look()
    })
  })

  const utter = (text: string) => {
    for (const socket of sockets) socket.send(text)
  }

  return {
    url: `ws://127.0.0.1:${port}/link/?ticket=secret-ticket`,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    greeted: () => untilHolds(watchers, 'a connection that was greeted', () => sockets.size > 0),
    say: (type, payload, { envelope_id = fresh('envelope-'), ...retry } = {}) =>
      new Promise((resolve, reject) => {
        const stop = startStopwatch()
        // Slack waits three seconds. Whoever tests that looks at how long it took.
        const late = setTimeout(() => reject(new Error('not acknowledged')), PATIENCE_MS)
        waiting.set(envelope_id, (acknowledged) => {
          clearTimeout(late)
          resolve({ payload: acknowledged, text: JSON.stringify(acknowledged) ?? '', ms: stop() })
        })
        const accepts = type !== 'events_api'
        const envelope = { envelope_id, type, payload, accepts_response_payload: accepts, ...retry }
        utter(JSON.stringify(envelope))
      }),
    utter,
    refresh: () => utter(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' })),
    drop() {
      for (const socket of sockets) socket.terminate()
    },
    async close() {
      for (const socket of server.clients) socket.terminate()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

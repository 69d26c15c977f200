import type { Response } from 'express'
import { Refusal } from '../domain/errors.ts'
import { failureOf } from './error-response.ts'
import type { HttpDeps } from './http-deps.ts'

/** One server-sent event (WHATWG HTML, section 9.2). `data` is sent as JSON, which has no line breaks. */
interface StreamEvent {
  event: string
  id?: string
  data: object
}

/** An open stream of server-sent events. */
export type EventStream = ReturnType<typeof openEventStream>

interface StreamOptions {
  /** Milliseconds between comments that keep proxies from closing the connection. */
  heartbeatMs?: number
}

const HEARTBEAT_MS = 15_000

/** Milliseconds after which a client that lost its connection reconnects. */
const RETRY_MS = 3_000

/**
 * Starts a stream. A client that reads nothing for a whole heartbeat is disconnected, so that no data piles up for it in
 * memory (T67).
 */
export function openEventStream(response: Response, { heartbeatMs = HEARTBEAT_MS }: StreamOptions = {}) {
  response.status(200)
  response.setHeader('Content-Type', 'text/event-stream')
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('X-Accel-Buffering', 'no') // Otherwise nginx would hold events back.
  response.write(`retry: ${RETRY_MS}\n\n`)
  const heart = setInterval(beat(response), heartbeatMs)
  response.once('close', () => clearInterval(heart))
  return {
    /** Resolves once the event is on its way or the client is gone; the caller makes the next event only then. */
    async send({ event, id, data }: StreamEvent): Promise<void> {
      if (response.destroyed) return
      const lines = [`event: ${event}`, ...(id === undefined ? [] : [`id: ${id}`])]
      const taken = response.write(`${lines.join('\n')}\ndata: ${JSON.stringify(data)}\n\n`)
      if (!taken) await drainOrClose(response)
    },
    end(): void {
      clearInterval(heart)
      response.end()
    },
  }
}

/** Returns the body of a refusal plus its status: the response has already begun, so its own status can no longer change. */
export function errorEventData(deps: Pick<HttpDeps, 'log' | 'storeIsDown'>, error: unknown): object {
  const known = error instanceof Refusal ? error : failureOf(deps, error)
  if (known !== error) deps.log.error({ error }, 'event stream failed')
  const { retry_after } = known.details
  return { error: known.code, message: known.publicMessage, status: known.status, retry_after }
}

function beat(response: Response): () => void {
  let stalled = false
  return () => {
    if (!response.writableNeedDrain) response.write(': still here\n\n')
    else if (stalled) response.destroy()
    stalled = response.writableNeedDrain
  }
}

function drainOrClose(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}

/**
 * Returns a signal that aborts when the client is gone, also if the client left before this call: `close` is emitted only
 * once, and a slot taken after it would stay held for the longest time a wait may take.
 */
export function clientGone(response: Response): AbortSignal {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  if (response.destroyed || response.closed) gone.abort()
  return gone.signal
}

import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'

/**
 * What becomes of one call: `lose`, `cut`, `hang` and a function, which changes the answer, after the service did what it was
 * asked; the rest before it heard of it.
 */
export type Mishap =
  | 'lose'
  | 'cut'
  | 'hang'
  | 'never'
  | ((answer: string) => string)
  | { status: number; headers?: Record<string, string>; body: string }

/** What a proxy says. */
export const htmlPage = (status: number): Mishap => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: `<html><h1>${status} Bad Gateway</h1></html>`,
})

/** What the service says that is asked too often. */
export const BUSY = {
  status: 429,
  headers: { 'retry-after': '1' },
  body: '{"error":"rate limit exceeded","message":"Too many requests; wait 1 s.","retry_after":1}',
}

/** What it says whose store is away. */
export const AWAY = {
  status: 503,
  headers: { 'retry-after': '1' },
  body: '{"error":"storage_unavailable","message":"The database does not answer."}',
}

/** One call that came through, or was meant to. */
interface Seen {
  method: string
  path: string
  body: string
  idempotencyKey: string | undefined
}

/** A network between client and service on which calls go wrong as told. */
export interface BadNetwork {
  url: string
  seen: Seen[]
  /** The next calls whose path or body matches meet these, one each, in this order. */
  spoil(what: RegExp, ...mishaps: Mishap[]): void
  /** Nothing goes wrong any more. */
  calm(): void
  close(): void
}

export async function startBadNetwork(target: string): Promise<BadNetwork> {
  const seen: Seen[] = []
  let rules: { what: RegExp; mishaps: Mishap[] }[] = []
  const server = createServer(async (incoming, response) => {
    const { method = '', url: path = '', headers } = incoming
    const body = await buffer(incoming)
    const key = headers['idempotency-key']
    seen.push({ method, path, body: body.toString(), idempotencyKey: key?.toString() })
    const meets = ({ what }: { what: RegExp }) => what.test(path) || what.test(body.toString())
    const rule = rules.find((one) => one.mishaps.length > 0 && meets(one))
    const mishap = rule?.mishaps.shift()
    if (mishap === 'never') return
    if (typeof mishap === 'object') {
      response.writeHead(mishap.status, mishap.headers).end(mishap.body)
      return
    }
    const onward = request(new URL(path, target), { method, headers, agent: false }, async (answer) => {
      // A stream has no end to wait for: it passes at once, or breaks.
      if (answer.headers['content-type'] === 'text/event-stream') {
        if (mishap !== undefined) return void response.destroy()
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        return void pipeline(answer, response, () => {})
      }
      const whole = await buffer(answer).catch(() => undefined)
      if (whole === undefined || mishap === 'lose') return void response.destroy()
      if (mishap === 'hang') return
      if (typeof mishap === 'function') return void response.end(mishap(whole.toString()))
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      if (mishap === 'cut') return cutShort(response, whole)
      response.end(whole)
    })
    onward.on('error', () => response.destroy())
    // A client that leaves also leaves the service: else its wait would keep a place.
    response.on('close', () => onward.destroy())
    onward.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    spoil(what, ...mishaps) {
      rules = [...rules, { what, mishaps }]
    },
    calm() {
      rules = []
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function cutShort(response: ServerResponse, whole: Buffer): void {
  response.write(whole.subarray(0, whole.length / 2), () => response.destroy())
}

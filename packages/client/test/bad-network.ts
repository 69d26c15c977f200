import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What becomes of one call: `lose` and `cut` after the service did what it was asked, the rest before it heard of it. */
export type Mishap =
  | 'lose'
  | 'cut'
  | 'never'
  | { status: number; headers?: Record<string, string>; body: string }

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
  /** The next calls to that path meet these, one each, in this order. */
  spoil(path: RegExp, ...mishaps: Mishap[]): void
  /** Nothing goes wrong any more. */
  calm(): void
  close(): void
}

export async function startBadNetwork(target: string): Promise<BadNetwork> {
  const seen: Seen[] = []
  let rules: { path: RegExp; mishaps: Mishap[] }[] = []
  const server = createServer(async (incoming, response) => {
    const { method = '', url: path = '', headers } = incoming
    const body = await buffer(incoming)
    const key = headers['idempotency-key']
    seen.push({ method, path, body: body.toString(), idempotencyKey: key?.toString() })
    const rule = rules.find((one) => one.path.test(path) && one.mishaps.length > 0)
    const mishap = rule?.mishaps.shift()
    if (mishap === 'never') return
    if (typeof mishap === 'object') {
      response.writeHead(mishap.status, mishap.headers).end(mishap.body)
      return
    }
    const onward = request(new URL(path, target), { method, headers, agent: false }, async (answer) => {
      const whole = await buffer(answer).catch(() => undefined)
      if (whole === undefined || mishap === 'lose') return void response.destroy()
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
    spoil(path, ...mishaps) {
      rules = [...rules, { path, mishaps }]
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

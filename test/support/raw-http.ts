import { type IncomingHttpHeaders, request } from 'node:http'

/** An answer as it went over the wire: nothing decoded, nothing followed. */
export interface RawAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Sends exactly this path and these headers; `fetch` would tidy the path up and decode the body. */
export function rawRequest(
  origin: string,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

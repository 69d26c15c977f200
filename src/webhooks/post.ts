import {
  type ClientRequest,
  type Agent as HttpAgent,
  type IncomingMessage,
  request as overHttp,
} from 'node:http'
import { type Agent as HttpsAgent, request as overHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { BlockedAddressError } from './guarded-lookup.ts'

/** One POST that is about to be made. */
export interface Post {
  url: URL
  /** Without the final dot that TLS names must not have. */
  host: string
  headers: Record<string, string>
  body: string | Uint8Array
  agents: { http: HttpAgent; https: HttpsAgent }
  lookup: LookupFunction
  mayCall(address: string): boolean
  /** Trusted instead of the public certificate authorities. */
  ca: string | undefined
  /** Cuts it off, in whatever state. */
  signal: AbortSignal
  /** Told when the connection is gone, which can be after the answer; a POST that fails leaves none. */
  over(): void
}

export interface Answer {
  status: number
  retryAfter: string | undefined
}

/** The header section of an answer (T8). */
const HEADER_BYTES = 16 * 1024

/** Informational answers (1xx) before the real one; a flood of them would keep the event loop busy until the deadline. */
const EARLY_ANSWERS = 16

/** What is read of an answer's body, and thrown away, so that an ordinary receiver is not cut off while it still writes. */
const BODY_BYTES = 64 * 1024

/** For how long it is read. Until then the connection counts against the limits, so it must not be long (T8, T9). */
const BODY_MS = 1_000

/**
 * Makes the POST and resolves at the status line; redirects are answers like others (T4). The request is written only once the
 * connection stands, its far end has been looked at and its certificate is verified.
 * @throws BlockedAddressError, and what `node:https` reports
 */
export function post(job: Post): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = open(job)
    const answered = (response: IncomingMessage): void =>
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] })
    request.on('error', reject)
    request.once('close', () => reject(new Error('the connection was closed without an answer')))
    request.once('response', (response) => {
      answered(response)
      discard(response)
    })
    let early = 0
    request.on('information', () => {
      early += 1
      if (early > EARLY_ANSWERS) request.destroy(new Error('too many informational answers'))
    })
    request.once('upgrade', (response) => {
      answered(response)
      request.destroy()
    })
  })
}

function open(job: Post): ClientRequest {
  const { url, host, headers, signal, lookup, ca } = job
  const secure = url.protocol === 'https:'
  const common = {
    method: 'POST',
    headers,
    signal,
    lookup,
    maxHeaderSize: HEADER_BYTES,
    insecureHTTPParser: false,
  }
  const tls = {
    servername: isIP(host) === 0 ? host : '',
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
  }
  const request = secure
    ? overHttps(url, { ...common, ...tls, agent: job.agents.https })
    : overHttp(url, { ...common, agent: job.agents.http })
  request.once('socket', (socket) => {
    // A request is over with its answer; a socket lives on while the receiver leaves unread what was sent.
    socket.once('close', () => job.over())
    signal.addEventListener('abort', () => socket.destroy(), { once: true })
    // Before TLS's own listener: an address that may not be called gets not even a greeting (T2).
    socket.prependOnceListener('connect', () => {
      if (!job.mayCall(socket.remoteAddress ?? '')) request.destroy(new BlockedAddressError())
    })
    socket.once(secure ? 'secureConnect' : 'connect', () => request.end(job.body))
  })
  return request
}

function discard(response: IncomingMessage): void {
  const { socket } = response
  const patience = setTimeout(() => socket.destroy(), BODY_MS)
  socket.once('close', () => clearTimeout(patience))
  let left = BODY_BYTES
  // A receiver that breaks off in the body has answered all the same.
  response.on('error', () => undefined)
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
}

import { createHmac } from 'node:crypto'
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { OutcomeClass } from '../domain/retry.ts'
import { retryAfterSeconds } from '../domain/retry-after.ts'
import type { AttemptOutcome, OfferSender, PushMessage, PushSender, WebhookSender } from '../ports/ports.ts'
import {
  BlockedAddressError,
  guardedLookup,
  type ResolveHost,
  resolveByDns,
  resolveBySystem,
} from './resolve-host.ts'
import { createTargetUrls, isPublicAddress, literalOf, type TargetRules } from './target-url.ts'

export interface SenderOptions extends TargetRules {
  /** Limit from the start, including name resolution, to the status line. */
  timeoutMs: number
  /** Version of Countersign, for `User-Agent`. */
  version: string
  /** Resolves host names instead of the name servers. */
  lookup?: ResolveHost
  /** Decides instead of `isPublicAddress`. */
  isPublic?: (address: string) => boolean
  /** Certificates in PEM, trusted instead of the public certificate authorities. */
  ca?: string
}

/** A POST to an address that was named from outside. */
interface GuardedMessage {
  url: string
  headers: Record<string, string>
  body: string | Uint8Array
  /** When the POST is made, for `Retry-After` dates. */
  at: Date
  /** The most bytes of the answer's body that are read; without it, none is. */
  reads?: number
}

/** The parts that all attempts of a sender share. */
interface Outfit extends SenderOptions {
  targets: ReturnType<typeof createTargetUrls>
  resolve: ResolveHost
  mayCall(address: string): boolean
  agents: { http: HttpAgent; https: HttpsAgent }
  /** Attempts under way, including those whose answer is still being read. */
  running: Set<AbortController>
}

/**
 * Makes the guard (T1–T10). Every attempt checks the URL by today's settings, resolves the host again, connects only to
 * addresses it has checked, directly even if the environment names proxies, and ends by the deadline. Closing cuts off attempts
 * under way, as `interrupted`.
 */
function createGuardedPost(options: SenderOptions) {
  // Agents of our own have no proxy, and resume no TLS session, so that every connection shows its certificate.
  const agents = {
    http: new HttpAgent({ keepAlive: false }),
    https: new HttpsAgent({ keepAlive: false, maxCachedSessions: 0 }),
  }
  const outfit: Outfit = {
    ...options,
    agents,
    targets: createTargetUrls(options),
    resolve: options.lookup ?? (options.allowPrivate ? resolveBySystem : resolveByDns()),
    mayCall: options.allowPrivate ? () => true : (options.isPublic ?? isPublicAddress),
    running: new Set(),
  }
  let closed = false
  return {
    /** Makes exactly one attempt; never throws. */
    async post(message: GuardedMessage): Promise<Result & { duration_ms: number }> {
      const started = performance.now()
      const result: Result = closed ? { outcome: 'interrupted' } : await attempt(outfit, message, started)
      return { ...result, duration_ms: Math.round(performance.now() - started) }
    },
    close(): void {
      closed = true
      for (const cut of outfit.running) cut.abort('interrupted')
    },
  }
}

type Result = Omit<AttemptOutcome, 'duration_ms'> & { answer?: { type: string; body: string } }

async function attempt(outfit: Outfit, message: GuardedMessage, started: number): Promise<Result> {
  const target = outfit.targets.read(message.url)
  if ('problem' in target) return { outcome: 'blocked' }
  // Node calls `lookup` only for names, so IP literals are checked here.
  const literal = literalOf(target.host)
  if (literal !== undefined && !outfit.mayCall(literal)) return { outcome: 'blocked' }
  const cut = new AbortController()
  const deadline = setTimeout(() => cut.abort('timeout'), outfit.timeoutMs)
  outfit.running.add(cut)
  let over = (): void => undefined
  const closed = new Promise<void>((gone) => {
    over = () => {
      clearTimeout(deadline)
      outfit.running.delete(cut)
      gone()
    }
  })
  try {
    const { response, body } = await post({
      ...outfit,
      ...message,
      url: new URL(target.href),
      host: literal ?? target.host,
      lookup: guardedLookup(outfit.resolve, outfit.mayCall, cut.signal),
      signal: cut.signal,
      over,
    })
    const now = new Date(message.at.getTime() + performance.now() - started)
    const type = response.headers['content-type'] ?? ''
    return { ...resultOf(response, now), ...(body !== undefined && { answer: { type, body } }), closed }
  } catch (error) {
    over()
    return { outcome: failureOf(error, cut.signal) }
  }
}

function resultOf({ statusCode: status = 0, headers }: IncomingMessage, now: Date): Result {
  const taken = status >= 200 && status < 300
  const seconds = taken ? undefined : retryAfterSeconds(headers['retry-after'], now)
  return { outcome: `http_${status}`, ...(seconds !== undefined && { retry_after: seconds }) }
}

/** Coarse on purpose: a reader of delivery logs must not learn what stands behind an address (T7). */
function failureOf(error: unknown, signal: AbortSignal): OutcomeClass {
  if (signal.aborted) return signal.reason === 'interrupted' ? 'interrupted' : 'timeout'
  return error instanceof BlockedAddressError ? 'blocked' : 'connect_failed'
}

/** A POST that is about to be made. */
interface Post
  extends Pick<Outfit, 'agents' | 'mayCall' | 'ca'>,
    Pick<GuardedMessage, 'headers' | 'body' | 'reads'> {
  url: URL
  /** The host without a final dot, which TLS names must not have. */
  host: string
  lookup: LookupFunction
  /** Cuts the POST off, in any state. */
  signal: AbortSignal
  /** Called when the connection is gone, which can be after the answer; a failed POST leaves no connection. */
  over(): void
}

/** Size limit for the header section of an answer (T8). */
const HEADER_BYTES = 16 * 1024

/** Limit for informational answers (1xx): a flood of them would keep the event loop busy until the deadline. */
const EARLY_ANSWERS = 16

/** How much of an answer's body is read and discarded, so that an ordinary receiver is not cut off while it still writes. */
const BODY_BYTES = 64 * 1024

/** How long the body is read. Until then the connection counts against the limits, so it must not be long (T8, T9). */
const BODY_MS = 1_000

/**
 * Makes the POST and resolves at the status line; a redirect is an answer like any other (T4). The request is written only after
 * the connection is established, its remote address checked and its certificate verified.
 * @throws BlockedAddressError, and the errors of `node:https`
 */
function post(job: Post): Promise<{ response: IncomingMessage; body?: string }> {
  return new Promise((resolve, reject) => {
    const request = open(job)
    request.on('error', reject)
    request.once('close', () => reject(new Error('the connection was closed without an answer')))
    request.once('response', (response) => {
      if (job.reads !== undefined) {
        readText(response, job.reads).then((body) => resolve({ response, body }), reject)
        return
      }
      resolve({ response })
      discard(response)
    })
    let early = 0
    request.on('information', () => {
      early += 1
      if (early > EARLY_ANSWERS) request.destroy(new Error('too many informational answers'))
    })
    request.once('upgrade', (response) => {
      resolve({ response })
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
    // A request ends with its answer, but a socket lives on while the receiver does not read what was sent.
    socket.once('close', () => job.over())
    signal.addEventListener('abort', () => socket.destroy(), { once: true })
    // Runs before TLS's own listener, so that a forbidden address does not even get a ClientHello (T2).
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
  // A receiver that breaks off within the body has answered all the same.
  response.on('error', () => undefined)
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
}

/** Reads a short body; the deadline of the attempt holds for it, too. @throws when it is longer, or breaks off */
async function readText(response: IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > most) throw new Error('the answer is too long')
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString()
}

/** The most bytes of a witness's answer: a size, or a few cosignatures. */
const OFFER_ANSWER_BYTES = 16_384

/** Makes the sender of checkpoints to witnesses. */
export function createOfferSender(options: SenderOptions): OfferSender {
  const guarded = createGuardedPost(options)
  const headers = {
    'Content-Type': 'text/plain; charset=utf-8',
    'User-Agent': `Countersign/${options.version} (+witnesses)`,
  }
  return {
    send: ({ url, body, at }) => guarded.post({ url, headers, body, at, reads: OFFER_ANSWER_BYTES }),
    close: guarded.close,
  }
}

interface PushSenderOptions extends SenderOptions {
  /** `mailto:` or `https:` address at which push services reach the operator (RFC 8292 §2.1). */
  subject: string
}

/**
 * Makes the sender of pushes: `web-push` encrypts and signs, our own guard sends. The address comes from a signed-in person's
 * browser, or from a thief of their session, so it is called like a webhook: public addresses only, no redirects, one attempt per
 * call, bounded in time and size. The library, loaded when it is first needed, never touches the network.
 */
export function createPushSender(options: PushSenderOptions): PushSender {
  const guarded = createGuardedPost(options)
  return {
    async newKeys() {
      const { generateVAPIDKeys } = await loadLibrary()
      const { publicKey, privateKey } = generateVAPIDKeys()
      return { public_key: publicKey, private_key: privateKey }
    },
    async send(message) {
      const request = await draw(options, message).catch(() => undefined)
      if (request === undefined) return { outcome: 'unsigned', duration_ms: 0 }
      return guarded.post({ ...request, at: message.at })
    },
    close: guarded.close,
  }
}

const loadLibrary = async () => (await import('web-push')).default

/** Builds the request of a push: encrypted body (RFC 8291), sender (RFC 8292), and how long it is kept (RFC 8030). */
async function draw({ subject, version }: PushSenderOptions, message: PushMessage) {
  const { generateRequestDetails } = await loadLibrary()
  const { endpoint, p256dh, auth } = message.subscription
  const { public_key: publicKey, private_key: privateKey } = message.keys
  const drawn = generateRequestDetails({ endpoint, keys: { p256dh, auth } }, message.payload, {
    vapidDetails: { subject, publicKey, privateKey },
    TTL: message.ttl_seconds,
    urgency: 'high',
    topic: message.topic,
    contentEncoding: 'aes128gcm',
  })
  if (drawn.body === null) throw new Error('a push without a body')
  const headers = Object.entries(drawn.headers).map(([name, value]) => [name, String(value)])
  return {
    url: endpoint,
    headers: { ...Object.fromEntries(headers), 'User-Agent': `Countersign/${version} (+push)` },
    body: drawn.body,
  }
}

type Message = Parameters<WebhookSender['send']>[0]

/** Makes the sender of webhooks, which signs each message and sends it through the guard. */
export function createWebhookSender(options: SenderOptions): WebhookSender {
  const guarded = createGuardedPost(options)
  return {
    send: (message) => guarded.post({ ...message, headers: headersOf(options, message) }),
    close: guarded.close,
  }
}

function headersOf({ version }: Pick<SenderOptions, 'version'>, message: Message): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(message.body)),
    'User-Agent': `Countersign/${version} (+webhooks)`,
    ...(message.traceparent === undefined ? {} : { traceparent: message.traceparent }),
    ...signatureHeaders(message),
  }
}

/**
 * Makes the headers by which a receiver knows that a webhook is ours and fresh: those of the interface ("Delivery headers and
 * signature") and those of Standard Webhooks 1.0.0, which also sign the id and carry one signature per secret during a rotation.
 * The id is the same on every attempt: receivers drop repeats by it (T83), and refuse timestamps more than 300 s old. A secret is
 * the text shown to people: 64 hex characters, whose ASCII bytes are the HMAC key (security §5.3).
 */
export function signatureHeaders({
  eventId,
  body,
  at,
  secrets,
}: Omit<Message, 'url'>): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const standard = secrets.map(
    (secret) => `v1,${mac(secret, `${eventId}.${timestamp}.${body}`).toString('base64')}`,
  )
  return {
    'X-Service-Signature': `sha256=${mac(secrets[0], `${timestamp}.${body}`).toString('hex')}`,
    'X-Service-Timestamp': timestamp,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  }
}

function mac(secret: string, text: string): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'ascii')).update(text, 'utf8').digest()
}

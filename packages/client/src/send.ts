import { Refused, Unreachable } from './errors.ts'

/** The service, as one client knows it. */
export interface Peer {
  /** Without a slash at the end. */
  url: string
  key: string
  fetch: typeof fetch
  /** How long a call is repeated while the service is away, in ms. */
  patience: number
  onRetry: (why: string, seconds: number) => void
}

/** Until when, and for whom, a call may take. Times are of `performance.now()`: a clock that is set changes no deadline. */
export interface Limits {
  end: number
  signal?: AbortSignal | undefined
  /** The request this is about, for errors. */
  id?: string | undefined
}

export interface Call {
  method: string
  /** From the root, with its query. */
  path: string
  /** JSON. */
  body?: string | undefined
  /** With one, a repeat does nothing twice. */
  idempotencyKey?: string | undefined
  headers?: Record<string, string> | undefined
  /** Longest time for one answer, in ms. */
  timeout?: number
}

/** An answer's body; undefined without one. */
export type Body = Readonly<Record<string, unknown>> | undefined

/** Why a call has to be sent again. */
interface Fault {
  fault: string
  cause?: unknown
  /** ms that the service asked for. */
  after?: number | undefined
  /** Present when the service itself declined, having done nothing. */
  refusal?: Refused
  /** Repeating is of no use. */
  final?: boolean
}

/** Refusals with 429 that end in no time worth waiting for, or that the caller handles. */
const LASTING = ['quota_exceeded', 'too_many_waits']

/** What the last answer within a deadline may take beyond it, in ms. */
const GRACE = 2_000

/**
 * Sends a call until it is answered: over lost and cut answers, 429, 5xx, and pages of proxies. A call that would do something
 * twice is repeated only after the service said that it did nothing.
 * @throws Refused, Unreachable, or the signal's reason
 */
export async function send(peer: Peer, call: Call, limits: Limits): Promise<Body> {
  const giveUp = Math.min(limits.end, performance.now() + peer.patience)
  const repeatable = call.method === 'GET' || call.idempotencyKey !== undefined
  for (let tries = 0; ; tries += 1) {
    const got = await attempt(peer, call, limits)
    if (!('fault' in got)) return got.body
    const { fault, refusal, cause } = got
    const pause = got.after ?? Math.min(250 * 2 ** tries, 10_000) * (0.5 + Math.random() / 2)
    const again = !got.final && (repeatable || refusal !== undefined) && performance.now() + pause < giveUp
    if (!again) throw refusal ?? new Unreachable(fault, limits.id, cause)
    peer.onRetry(fault, Math.ceil(pause / 1000))
    await sleep(pause, limits.signal)
  }
}

async function attempt(peer: Peer, call: Call, limits: Limits): Promise<{ body: Body } | Fault> {
  const { signal } = limits
  signal?.throwIfAborted()
  const own = new AbortController()
  const stop = () => own.abort()
  const most = Math.min(call.timeout ?? 20_000, Math.max(0, limits.end - performance.now()) + GRACE)
  const timer = setTimeout(stop, most)
  signal?.addEventListener('abort', stop)
  try {
    const response = await peer.fetch(`${peer.url}${call.path}`, {
      method: call.method,
      headers: {
        Authorization: `Bearer ${peer.key}`,
        ...(call.body !== undefined && { 'Content-Type': 'application/json' }),
        ...(call.idempotencyKey !== undefined && { 'Idempotency-Key': call.idempotencyKey }),
        ...call.headers,
      },
      ...(call.body !== undefined && { body: call.body }),
      // A redirect would carry the key elsewhere, or turn a POST into a GET.
      redirect: 'manual',
      signal: own.signal,
    })
    return judge(response, await response.text(), limits)
  } catch (cause) {
    signal?.throwIfAborted()
    return { fault: own.signal.aborted ? `no answer within ${Math.ceil(most / 1000)} s` : 'no answer', cause }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

function judge({ status, headers }: Response, text: string, { id }: Limits): { body: Body } | Fault {
  // A browser shows a redirect as 0.
  if (status < 200 || (status >= 300 && status < 400))
    return { fault: 'it answers with a redirect: set the address it redirects to', final: true }
  if (status === 204) return { body: undefined }
  const body = parse(text)
  if (status < 300) return body ? { body } : { fault: `${status}, but no JSON` }
  const after = retryAfter(headers.get('Retry-After') ?? body?.retry_after)
  if (status >= 500 || typeof body?.error !== 'string') return { fault: `${status}`, after }
  const refusal = new Refused(status, body, id)
  return {
    fault: `${status} ${body.error}`,
    after,
    refusal,
    final: status !== 429 || LASTING.includes(body.error),
  }
}

function parse(text: string): Body {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Body) : undefined
  } catch {
    return undefined
  }
}

/** Seconds or an HTTP date, to ms. */
function retryAfter(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  const ms = Number(value) * 1000
  const until = Number.isNaN(ms) ? Date.parse(String(value)) - Date.now() : ms
  return Number.isNaN(until) ? undefined : Math.max(0, until)
}

/** @throws the signal's reason */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
}

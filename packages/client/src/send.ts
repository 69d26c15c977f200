import { Refused, unreachable } from './errors.ts'

/** The service, as one client knows it. */
export interface Peer {
  /** Without a slash at the end. */
  url: string
  key: string
  fetch: typeof fetch
  /** ms for which a call is repeated while the service is away. */
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
  /** Without one a POST with `body`, else a GET. */
  method?: string
  /** From the root, with its query. */
  path: string
  /** What follows `path` and precedes a number of seconds, for which the service then waits: at most 25, and not beyond the deadline. */
  wait?: string | undefined
  body?: unknown
  /** The idempotency key: with one, a repeat does nothing twice. */
  once?: string | undefined
  headers?: Record<string, string> | undefined
  /** Longest time for one answer besides that wait, in ms. */
  timeout?: number
}

/** An answer's body, `{}` without one. */
export type Body = Readonly<Record<string, unknown>>

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

export const now = (): number => performance.now()

/**
 * Sends a call until it is answered: over lost and cut answers, 429, 5xx, and pages of proxies. A call that would do something
 * twice is repeated only after the service said that it did nothing.
 * @throws Refused, Unreachable, or the signal's reason
 */
export async function send(peer: Peer, limits: Limits, call: Call): Promise<Body> {
  const giveUp = Math.min(limits.end, now() + peer.patience)
  for (let pause = 200; ; pause = Math.min(2 * pause, 10_000)) {
    const got = await attempt(peer, limits, call)
    if ('body' in got) return got.body
    const { fault, refusal, final, cause, after = pause * (0.5 + Math.random()) } = got
    const repeatable = !final && (refusal || call.once || call.method === 'GET')
    if (!repeatable || now() + after > giveUp) throw refusal ?? unreachable(fault, limits.id, cause)
    peer.onRetry(fault, Math.ceil(after / 1000))
    await sleep(after, limits.signal)
  }
}

async function attempt(peer: Peer, limits: Limits, call: Call): Promise<{ body: Body } | Fault> {
  const { signal, end } = limits
  const { method = 'POST', path, wait, body, once, headers, timeout = 20_000 } = call
  signal?.throwIfAborted()
  const left = Math.max(0, end - now())
  const seconds = wait ? Math.floor(Math.min(25_000, left) / 1000) : 0
  try {
    // The last answer within a deadline may take 2 s beyond it.
    return await bounded(Math.min(timeout + seconds * 1000, left + 2000), signal, async (own) => {
      const response = await peer.fetch(peer.url + path + (seconds ? `${wait}${seconds}` : ''), {
        method,
        headers: {
          authorization: `Bearer ${peer.key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(once && { 'idempotency-key': once }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A redirect would carry the key elsewhere, or turn a POST into a GET.
        redirect: 'manual',
        signal: own,
      })
      return judge(response, await response.text(), limits.id)
    })
  } catch (cause) {
    signal?.throwIfAborted()
    return { fault: 'no answer', cause }
  }
}

function judge({ ok, status, headers }: Response, text: string, id?: string): { body: Body } | Fault {
  let body: Body = {}
  try {
    body = Object(JSON.parse(text || '{}'))
    if (ok) return { body }
  } catch {
    // A page of a proxy, or half an answer.
  }
  const { error, message, retry_after } = body
  const asked = headers.get('retry-after') ?? retry_after
  const seconds = Number(asked)
  const ms = seconds >= 0 ? seconds * 1000 : Date.parse(String(asked)) - Date.now()
  const fault = { fault: `${status} ${error ?? ''}`.trim(), after: asked && ms >= 0 ? ms : undefined }
  // A browser shows a redirect as 0.
  if (status < 400) return { ...fault, final: !ok }
  if (status >= 500 || !error) return fault
  const refusal = new Refused(`the approval service refused: ${message} (${error}). Tell the user.`, id, {
    code: error,
    status,
    body,
  })
  // A quota ends in no time worth waiting for; a wait without a place is the waiter's to mend.
  return {
    ...fault,
    refusal,
    final: status !== 429 || error === 'quota_exceeded' || error === 'too_many_waits',
  }
}

/** Resolves early when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<unknown> {
  return bounded(ms, signal, (own) => new Promise((resolve) => own.addEventListener('abort', resolve)))
}

/** Runs with a signal that aborts after `ms`, and with the given one. */
async function bounded<T>(
  ms: number,
  signal: AbortSignal | undefined,
  run: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController()
  const stop = () => own.abort()
  const timer = setTimeout(stop, ms)
  signal?.addEventListener('abort', stop)
  try {
    return await run(own.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

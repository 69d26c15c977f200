import type { ChatOutcome } from '../../src/flow/chat-ports.ts'
import { FetchFailure } from './fetch-json.ts'

/** Longest a call may take, its token included. */
export const CALL_DEADLINE_MS = 10_000

type Failed = ChatOutcome<never> & { ok: false }

/** Teams answered, and not with success. Of no kind that the library would repeat by itself. */
export class CallRefused extends Error {
  readonly status: number
  /** The connector's error code, for the log. */
  readonly code: string
  /** Whole seconds that it asked for. */
  readonly retryAfter: number | undefined

  constructor(status: number, code: string, retryAfter: number | undefined) {
    super(`Teams answered ${status} ${code}`)
    this.name = 'CallRefused'
    this.status = status
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** Runs one call with a deadline. Never throws. */
export async function attempt<T>(call: (signal: AbortSignal) => Promise<T>): Promise<ChatOutcome<T>> {
  const signal = AbortSignal.timeout(CALL_DEADLINE_MS)
  const started = performance.now()
  const took = () => Math.round(performance.now() - started)
  try {
    // Whatever ignores the signal must not hold the caller either.
    const value = await Promise.race([call(signal), expiry(signal)])
    return { ok: true, value, duration_ms: took() }
  } catch (error) {
    return { ...failureOf(error, signal), duration_ms: took() }
  }
}

function expiry(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** What an error of a call means for the card (Teams "rate limits", "format your bot messages"). */
function failureOf(error: unknown, signal: AbortSignal): Omit<Failed, 'duration_ms'> {
  if (error instanceof CallRefused) return refusedBy(error)
  if (signal.aborted) return { ok: false, outcome: 'timeout' }
  // The login server's answer, or no answer at all.
  if (error instanceof FetchFailure) return { ok: false, outcome: 'failed', code: error.code }
  return { ok: false, outcome: 'failed', code: error instanceof Error ? error.name : 'unknown' }
}

function refusedBy({ status, code, retryAfter }: CallRefused): Omit<Failed, 'duration_ms'> {
  const told = { ok: false as const, code, ...(retryAfter === undefined ? {} : { retry_after: retryAfter }) }
  // Not installed, blocked, gone: trying again will not help.
  if (status === 403 || status === 404) return { ...told, outcome: 'unreachable' }
  const asksForPatience = status === 429 || (retryAfter !== undefined && (status === 412 || status >= 500))
  return { ...told, outcome: asksForPatience ? 'rate_limited' : 'failed' }
}

/** `Retry-After` in whole seconds: a number, or a date (RFC 9110 section 10.2.3). */
export function readRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,6}$/.test(header.trim())) return Number(header)
  const at = header.endsWith(' GMT') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now.getTime()) / 1000))
}

import { z } from 'zod'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { parseJson } from '../../src/domain/parse-json.ts'
import { retryAfterSeconds } from '../../src/domain/retry-after.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatOutcome } from '../../src/ports/ports.ts'
import { errorCodeOf, FetchFailure, fetchJson, networkCode, readText } from './fetch-json.ts'
import { isAllowedService } from './service-address.ts'

interface Sending {
  method: string
  url: string
  body?: string
  signal: AbortSignal
}

/**
 * Sends an HTTP request to the connector: one attempt (two when a cached token is refused), no redirect, and our token only to
 * allowed hosts (T40). The library's own client would retry after 429, 5xx and broken connections, even a POST, and has no
 * deadline.
 * @returns a successful answer of at most a megabyte
 * @throws CallRefused, FetchFailure; the signal's reason if it was aborted
 */
export function createSendOnce(
  tokens: AppTokens,
  settings: Pick<TeamsSettings, 'serviceHosts'>,
  { clock }: Pick<FlowDeps, 'clock'>,
): (sending: Sending) => Promise<{ status: number; text: string }> {
  const send = async ({ method, url, body, signal }: Sending, token: string | undefined) => {
    const unanswered = (error: unknown): never => {
      if (signal.aborted) throw error
      throw new CallRefused(NO_ANSWER, networkCode(error), undefined)
    }
    const response = await fetch(url, {
      method,
      signal,
      redirect: 'manual',
      headers: {
        Accept: 'application/json',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json; charset=utf-8' }),
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body }),
    }).catch(unanswered)
    // An answer that breaks off tells no more than none at all.
    return { response, text: await readText(response).catch(unanswered) }
  }
  return async (sending) => {
    const { url, signal } = sending
    if (!isAllowedService(url.split('?')[0] ?? url, settings))
      throw new CallRefused(403, 'service_not_allowed', undefined)
    const token = await tokens.get(signal)
    let { response, text } = await send(sending, token)
    if (response.status === 401 && token !== undefined) {
      // The token may only have expired. A request answered with 401 did nothing, so it can be sent again.
      tokens.forget(token)
      ;({ response, text } = await send(sending, await tokens.get(signal)))
    }
    if (response.ok) return { status: response.status, text }
    const retryAfter = retryAfterSeconds(response.headers.get('retry-after'), clock.now())
    throw new CallRefused(response.status, errorCodeOf(parseJson(text)) ?? 'http_error', retryAfter)
  }
}

/** Replaces the status of a request whose connection ended before the answer was complete. */
const NO_ANSWER = 0

/** Most milliseconds that a call may take, including getting its token. */
export const CALL_DEADLINE_MS = 10_000

type Failed = ChatOutcome<never> & { ok: false }

/** A call that Teams refused or did not answer. The library does not retry errors of this type. */
class CallRefused extends Error {
  readonly status: number
  /** The connector's error code, for the log. */
  readonly code: string
  /** Whole seconds that Teams asked us to wait. */
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
    // A call that ignores the signal must not block our caller either.
    const value = await unlessAborted(call(signal), signal)
    return { ok: true, value, duration_ms: took() }
  } catch (error) {
    return { ...failureOf(error, signal), duration_ms: took() }
  }
}

/** Says what the error of a call means for the card (Teams "rate limits", "format your bot messages"). */
function failureOf(error: unknown, signal: AbortSignal): Omit<Failed, 'duration_ms'> {
  if (error instanceof CallRefused) return refusedBy(error)
  if (signal.aborted) return { ok: false, outcome: 'timeout', perhaps: true }
  // The login server refused, or did not answer.
  if (error instanceof FetchFailure) {
    const refused = error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 429
    return { ok: false, outcome: refused ? 'unavailable' : 'failed', code: error.code }
  }
  return { ok: false, outcome: 'failed', code: error instanceof Error ? error.name : 'unknown' }
}

/**
 * Codes of refusals that last until the app is added, or allowed by a setting. Any other 403 or 404 may pass: in incidents Teams
 * says `ConversationNotFound` of conversations that exist, and a person or an administrator may unblock the app (which is why
 * even `BotDisabledByAdmin` is about one conversation; Teams "Status codes from bot conversational APIs").
 */
const LASTING: ReadonlySet<string> = new Set(['BotNotInConversationRoster', 'service_not_allowed'])

function refusedBy({ status, code, retryAfter }: CallRefused): Omit<Failed, 'duration_ms'> {
  // Includes a 5xx that asks us to wait: a gateway says that about the server behind it, which may have acted.
  const perhaps = status >= 500 || (status === NO_ANSWER && code !== 'ECONNREFUSED' && code !== 'ENOTFOUND')
  const told = {
    ok: false as const,
    code,
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    ...(perhaps ? { perhaps: true as const } : {}),
  }
  // Refuses the bot itself, everywhere in the tenant.
  if (status === 401) return { ...told, outcome: 'unavailable' }
  if (code === 'ActivityNotFoundInConversation') return { ...told, outcome: 'unreachable', gone: true }
  if (status === 403 || status === 404)
    return { ...told, outcome: 'unreachable', ...(LASTING.has(code) ? {} : { passing: true as const }) }
  const asksForPatience = status === 429 || (retryAfter !== undefined && (status === 412 || status >= 500))
  return { ...told, outcome: asksForPatience ? 'rate_limited' : 'failed' }
}

/** The scope of the bot's tokens. */
export const BOT_SCOPE = 'https://api.botframework.com/.default'
/** Returns the address that issues the app's tokens. */
export function tokenUrl({ loginUrl, tenantId }: Pick<TeamsSettings, 'loginUrl' | 'tenantId'>): string {
  return `${loginUrl}/${tenantId}/oauth2/v2.0/token`
}

/** Milliseconds before its expiry in which a token is not used: it must last for the call, and clocks differ. */
const LEFT_MS = 5 * 60_000

const answerSchema = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive() })

/** The tokens for our calls to Teams. */
type AppTokens = ReturnType<typeof createAppTokens>

/**
 * Gets tokens with the client credentials of a single-tenant app (RFC 6749 section 4.4) and keeps them until they expire. Calls
 * that need a token at the same time share one request, which no deadline of theirs ends. Replaces the library's MSAL, which
 * retries by itself, has no deadline, asks other hosts for the authority first, and accepts https: alone.
 */
export function createAppTokens(
  { appId, appPassword, tenantId, loginUrl, unauthenticated }: TeamsSettings,
  { clock }: Pick<FlowDeps, 'clock'>,
) {
  let known: { token: string; until: number } | undefined
  let asking: Promise<string> | undefined
  const ask = async (): Promise<string> => {
    const signal = AbortSignal.timeout(CALL_DEADLINE_MS)
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: appId,
      client_secret: appPassword,
      scope: BOT_SCOPE,
    })
    const askedAt = clock.steady()
    const told = await fetchJson(tokenUrl({ loginUrl, tenantId }), { method: 'POST', body, signal }).catch(
      (error: unknown) => {
        throw signal.aborted ? new FetchFailure(0, 'timeout') : error
      },
    )
    const answer = answerSchema.parse(told)
    known = { token: answer.access_token, until: askedAt + answer.expires_in * 1000 - LEFT_MS }
    return answer.access_token
  }
  return {
    /** Returns a bearer token; undefined where the connector needs none. @throws FetchFailure; the reason of `signal` */
    async get(signal: AbortSignal): Promise<string | undefined> {
      if (unauthenticated) return undefined
      signal.throwIfAborted()
      if (known !== undefined && known.until > clock.steady()) return known.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return unlessAborted(asking, signal)
    },
    /** Drops a token that Teams refused, so that the next call asks for another. */
    forget(token: string): void {
      if (known?.token === token) known = undefined
    },
  }
}

/** Waits for the answer, at most until the signal is aborted. @throws the signal's reason */
async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = new AbortController()
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal })
  })
  try {
    return await Promise.race([answer, aborted])
  } finally {
    over.abort()
  }
}

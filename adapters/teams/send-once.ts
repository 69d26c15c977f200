import type { TeamsSettings } from '../../src/config/teams.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { AppTokens } from './app-token.ts'
import { CallRefused, readRetryAfter } from './call-outcome.ts'
import { errorCodeOf, FetchFailure, networkCode, parsed, readText } from './fetch-json.ts'
import { isAllowedService } from './service-address.ts'

/** A roster entry or the id of a message: little. */
const MOST_BYTES = 1_000_000

export interface Sending {
  method: string
  url: string
  body?: string
  signal: AbortSignal
}

/**
 * One HTTP request to the connector: one attempt, no redirect, with our token only to hosts that are allowed (T40). The
 * library's own client would repeat after 429, 5xx and broken connections, a POST as well, and never end.
 * @returns a success of at most a megabyte
 * @throws CallRefused, FetchFailure; what the signal was aborted with
 */
export function createSendOnce(
  tokens: AppTokens,
  settings: Pick<TeamsSettings, 'serviceHosts'>,
  { clock }: Pick<FlowDeps, 'clock'>,
): (sending: Sending) => Promise<{ status: number; text: string }> {
  return async ({ method, url, body, signal }) => {
    if (!isAllowedService(url.split('?')[0] ?? url, settings))
      throw new CallRefused(403, 'service_not_allowed', undefined)
    const token = await tokens.get(signal)
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
    }).catch((error: unknown) => {
      if (signal.aborted) throw error
      throw new FetchFailure(0, networkCode(error))
    })
    const text = await readText(response, MOST_BYTES)
    if (response.ok) return { status: response.status, text }
    if (response.status === 401 && token !== undefined) tokens.forget(token)
    const retryAfter = readRetryAfter(response.headers.get('retry-after'), clock.now())
    throw new CallRefused(response.status, errorCodeOf(parsed(text)) ?? 'http_error', retryAfter)
  }
}

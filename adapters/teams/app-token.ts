import { z } from 'zod'
import type { TeamsSettings } from '../../src/config/teams.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { CALL_DEADLINE_MS } from './call-outcome.ts'
import { FetchFailure, fetchJson } from './fetch-json.ts'

/** What the bot asks tokens for. */
export const BOT_SCOPE = 'https://api.botframework.com/.default'
/** A token is not used in its last minutes: it must last for the call, and clocks differ. */
const LEFT_MS = 5 * 60_000

const answerSchema = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive() })

/** Tokens with which we speak to Teams. */
export interface AppTokens {
  /** A bearer token; undefined where nobody asks for one. @throws FetchFailure; what `signal` was aborted with */
  get(signal: AbortSignal): Promise<string | undefined>
  /** Teams did not take it: the next call asks for another one. */
  forget(token: string): void
}

/**
 * Client credentials of a single-tenant app (RFC 6749 section 4.4), kept until they run out; calls that need one at the same
 * time wait for one request, which none of their deadlines ends. Ours instead of the library's
 * MSAL: that one repeats by itself, has no deadline, asks other hosts who is in charge first, and takes https: alone.
 */
export function createAppTokens(
  { appId, appPassword, tenantId, loginUrl, unauthenticated }: TeamsSettings,
  { clock }: Pick<FlowDeps, 'clock'>,
): AppTokens {
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
    const askedAt = clock.now().getTime()
    const url = `${loginUrl}/${tenantId}/oauth2/v2.0/token`
    const told = await fetchJson(url, { method: 'POST', body, signal }).catch((error: unknown) => {
      throw signal.aborted ? new FetchFailure(0, 'timeout') : error
    })
    const answer = answerSchema.parse(told)
    known = { token: answer.access_token, until: askedAt + answer.expires_in * 1000 - LEFT_MS }
    return answer.access_token
  }
  return {
    async get(signal) {
      if (unauthenticated) return undefined
      signal.throwIfAborted()
      if (known !== undefined && known.until > clock.now().getTime()) return known.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return unlessAborted(asking, signal)
    },
    forget(token) {
      if (known?.token === token) known = undefined
    },
  }
}

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

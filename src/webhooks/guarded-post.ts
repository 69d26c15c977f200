import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { OutcomeClass } from '../domain/retry.ts'
import type { AttemptOutcome } from '../flow/delivery-ports.ts'
import { BlockedAddressError, guardedLookup } from './guarded-lookup.ts'
import { type Answer, post } from './post.ts'
import { isPublicAddress } from './public-address.ts'
import { type ResolveHost, resolveByDns, resolveBySystem } from './resolve-host.ts'
import { retryAfterSeconds } from './retry-after.ts'
import { createTargetUrls, literalOf, type TargetRules } from './target-url.ts'

export interface SenderOptions extends TargetRules {
  /** From the start, name resolution included, to the status line. */
  timeoutMs: number
  /** Of Countersign, for `User-Agent`. */
  version: string
  /** Asked instead of the name servers. */
  lookup?: ResolveHost
  /** Decides instead of the rule of `isPublicAddress`. */
  isPublic?: (address: string) => boolean
  /** PEM, trusted instead of the public certificate authorities. */
  ca?: string
}

/** A POST to an address that somebody outside has named. */
interface GuardedMessage {
  url: string
  headers: Record<string, string>
  body: string | Uint8Array
  /** When it is made, for `Retry-After` dates. */
  at: Date
}

/** Sends behind the address guard, for whoever has something to send. */
export interface GuardedPost {
  /** Exactly one attempt; never throws. */
  post(message: GuardedMessage): Promise<AttemptOutcome>
  close(): void
}

/** Made once for all attempts. */
interface Outfit extends SenderOptions {
  targets: ReturnType<typeof createTargetUrls>
  resolve: ResolveHost
  mayCall(address: string): boolean
  agents: { http: HttpAgent; https: HttpsAgent }
  /** Attempts under way, answers still being read included. */
  running: Set<AbortController>
}

/**
 * The guard (T1–T10). Every attempt checks the URL by today's settings, resolves anew, connects only to addresses it has
 * checked, directly whatever proxies the environment names, and ends by the deadline. Closing cuts off what is under way as
 * `interrupted`.
 */
export function createGuardedPost(options: SenderOptions): GuardedPost {
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
    async post(message) {
      const started = performance.now()
      const result: Result = closed ? { outcome: 'interrupted' } : await attempt(outfit, message, started)
      return { ...result, duration_ms: Math.round(performance.now() - started) }
    },
    close() {
      closed = true
      for (const cut of outfit.running) cut.abort('interrupted')
    },
  }
}

type Result = Omit<AttemptOutcome, 'duration_ms'>

async function attempt(outfit: Outfit, message: GuardedMessage, started: number): Promise<Result> {
  const target = outfit.targets.read(message.url)
  if ('problem' in target) return { outcome: 'blocked' }
  // Node asks no lookup about IP literals, so they are checked here.
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
    const answer = await post({
      url: new URL(target.href),
      host: literal ?? target.host,
      headers: message.headers,
      body: message.body,
      agents: outfit.agents,
      lookup: guardedLookup(outfit.resolve, outfit.mayCall, cut.signal),
      mayCall: outfit.mayCall,
      ca: outfit.ca,
      signal: cut.signal,
      over,
    })
    const now = new Date(message.at.getTime() + performance.now() - started)
    return { ...resultOf(answer, now), closed }
  } catch (error) {
    over()
    return { outcome: failureOf(error, cut.signal) }
  }
}

function resultOf({ status, retryAfter }: Answer, now: Date): Result {
  const seconds = status >= 200 && status < 300 ? undefined : retryAfterSeconds(retryAfter, now)
  return { outcome: `http_${status}`, ...(seconds !== undefined && { retry_after: seconds }) }
}

/** Coarse on purpose: whoever reads delivery logs must not learn what stands behind an address (T7). */
function failureOf(error: unknown, signal: AbortSignal): OutcomeClass {
  if (signal.aborted) return signal.reason === 'interrupted' ? 'interrupted' : 'timeout'
  return error instanceof BlockedAddressError ? 'blocked' : 'connect_failed'
}

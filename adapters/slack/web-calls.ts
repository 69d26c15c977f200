import { z } from 'zod'
import type { MessageRef } from '../../src/domain/chat.ts'
import type { ChatOutcome, Log } from '../../src/ports/ports.ts'
import { atRate, createPacer, type Pacer, type Rate } from '../shared/pacer.ts'
import { CALL_MS, type Trouble, troubleOf } from './web-client.ts'
import type { Workspaces } from './workspaces.ts'

/** A call that is about to be made. */
export interface PacedCall {
  tenant: string
  method: string
  /** The conversation that the message is for. */
  conversation?: string
}

/** The outcome of one call: Slack's unparsed answer, or why there is none. */
type WebAnswer = { ok: true; value: unknown } | ({ ok: false } & Trouble)

/** Calls that share one deadline, such as finding a conversation and then posting. */
export interface WebCalls {
  /** Makes one attempt. Never throws. */
  call(target: PacedCall, args: Record<string, unknown>): Promise<WebAnswer>
}

/** Most milliseconds that the calls for one card may take together, waiting included. */
const TOGETHER_MS = 15_000

/** Most milliseconds that one call waits for its turn. */
const TURN_MS = 5_000

/** Makes every call to Slack, paced and with a deadline. Its log says what failed, never what was sent. */
export function createWebCalls(
  workspaces: Workspaces,
  { rates, log }: { rates: SlackRates; log: Log },
): { within<T>(work: (calls: WebCalls) => Promise<WebOutcome<T>>): Promise<ChatOutcome<T>> } {
  const pacer = createSlackPacer(rates)

  const attempt = async (
    target: PacedCall,
    args: Record<string, unknown>,
    latest: number,
  ): Promise<WebAnswer> => {
    const { tenant, method } = target
    const workspace = await workspaces.find(tenant)
    if (workspace === 'not_installed') return { ok: false, outcome: 'unavailable', code: workspace }
    if (workspace === 'not_known_yet') {
      const why = workspaces.whyUnknown()
      return why?.outcome === 'unavailable'
        ? { ok: false, ...why }
        : { ok: false, outcome: 'failed', code: workspace }
    }
    const now = performance.now()
    if (now > latest) return { ok: false, outcome: 'timeout', code: 'no_time_left' }
    const turn = await pacer.turn(target, Math.min(now + TURN_MS, latest))
    if ('again_s' in turn) {
      return { ok: false, outcome: 'rate_limited', code: 'paced', retry_after: turn.again_s }
    }
    try {
      return { ok: true, value: await workspace.client.apiCall(method, args) }
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble.outcome === 'rate_limited') pacer.pause(target, trouble.retry_after ?? 1)
      return { ok: false, ...trouble }
    }
  }
  const call = async (
    target: PacedCall,
    args: Record<string, unknown>,
    latest: number,
  ): Promise<WebAnswer> => {
    const { tenant, method } = target
    const answer = await attempt(target, args, latest).catch((error: unknown): WebAnswer => {
      log.error({ error, platform: 'slack', tenant, method }, 'a call to Slack failed')
      return { ok: false, outcome: 'failed', code: 'internal' }
    })
    if (!answer.ok) tell(log, target, answer)
    return answer
  }
  return {
    async within(work) {
      const started = performance.now()
      const latest = started + TOGETHER_MS - CALL_MS
      const answer = await work({ call: (target, args) => call(target, args, latest) })
      return { ...answer, duration_ms: Math.round(performance.now() - started) }
    },
  }
}

/** A `ChatOutcome` without its duration. */
export type WebOutcome<T> = { ok: true; value: T } | ({ ok: false } & Trouble)

/** Logs a failed call; our own pacing only at debug level, and a person who is not in the workspace not at all. */
function tell(log: Log, { tenant, method }: PacedCall, { outcome, code, retry_after }: Trouble): void {
  if (code === 'users_not_found') return
  const said = {
    platform: 'slack',
    tenant,
    method,
    outcome,
    reason: code,
    ...(retry_after && { retry_after }),
  }
  if (code === 'paced') log.debug(said, 'a call to Slack was postponed')
  else log.warn(said, 'Slack refused a call')
}

export interface SlackRates {
  /** Messages in one conversation, thread replies included. */
  conversation: Rate
  /** Messages in one workspace. */
  posts: Rate
  /** Each other method on its own, in one workspace. */
  method: Rate
}

/**
 * The rates of one process, slightly below what Slack allows (docs.slack.dev, "Rate limits"): one message a second in a
 * conversation, several hundred a minute in a workspace, and 50 calls a minute of each tier 3 method (`chat.update`,
 * `conversations.open`, `users.lookupByEmail`), which the burst and a minute's calls reach together.
 */
export const SLACK_RATES: SlackRates = {
  conversation: { every: 1_000, burst: 1 },
  posts: { every: 250, burst: 20 },
  method: { every: 60_000 / 45, burst: 5 },
}

/** The most conversations and methods kept in memory. */
const MOST_LANES = 10_000

/**
 * Creates a pacer for Slack, which does not say whether a conversation or the workspace reached a limit. The conversation is
 * paused; if Slack refuses a second conversation meanwhile, the method is paused in the whole workspace.
 */
export function createSlackPacer(rates: SlackRates): Pacer<PacedCall> {
  return createPacer({
    lanesOf({ tenant, method, conversation }) {
      if (conversation === undefined || method !== 'chat.postMessage')
        return [[`${tenant} ${method}`, () => atRate(rates.method)]]
      return [
        [`${tenant} posts`, () => atRate(rates.posts)],
        [`${tenant} in ${conversation}`, () => atRate(rates.conversation)],
      ]
    },
    pauseKey({ tenant, method, conversation }) {
      const all = `${tenant} ${method}`
      return conversation === undefined ? all : { own: `${all} ${conversation}`, all }
    },
    most: MOST_LANES,
  })
}

const METADATA = 'countersign_card'

/** Returns metadata that identifies the card in the history; only apps can see it. */
export function metadataOf(card: string | undefined) {
  return card === undefined ? {} : { metadata: { event_type: METADATA, event_payload: { card } } }
}

const page = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      metadata: z
        .object({ event_type: z.string(), event_payload: z.object({ card: z.string() }) })
        .optional()
        .catch(undefined),
    }),
  ),
  has_more: z.boolean().optional(),
})

/** Most messages searched for one card. */
const MOST_MESSAGES = 200
/** Milliseconds before a retry when a scope is missing, because it may be granted later. */
const CLOSED_MS = 3_600_000
/** Longest wait in seconds for a rate limit. Apps outside Slack's Marketplace read once a minute: no card waits for that. */
const SOON_S = 10
/** Seconds by which our clock and Slack's may differ. */
const APART_S = 300

/** Reads the history of conversations where the app has the scope (`im:history`, `channels:history`, `groups:history`). */
export function createHistory() {
  const closed = new Map<string, number>()
  return {
    async find(
      calls: WebCalls,
      tenant: string,
      conversation: string,
      card: string,
      since: Date,
    ): Promise<WebOutcome<MessageRef | 'none' | 'unknown'>> {
      const kind = `${tenant} ${conversation.charAt(0)}`
      if ((closed.get(kind) ?? 0) > performance.now()) return { ok: true, value: 'unknown' }
      const oldest = String(Math.floor(since.getTime() / 1000) - APART_S)
      const args = { channel: conversation, oldest, limit: MOST_MESSAGES, include_all_metadata: true }
      const answer = await calls.call({ tenant, method: 'conversations.history' }, args)
      if (!answer.ok) {
        const soon = answer.outcome === 'rate_limited' && (answer.retry_after ?? 0) <= SOON_S
        if (answer.outcome === 'failed' || answer.outcome === 'timeout' || soon) return answer
        if (answer.code === 'missing_scope') closed.set(kind, performance.now() + CLOSED_MS)
        return { ok: true, value: 'unknown' }
      }
      const { success, data } = page.safeParse(answer.value)
      if (!success) return { ok: true, value: 'unknown' }
      const found = data.messages.find(
        ({ metadata }) => metadata?.event_type === METADATA && metadata.event_payload.card === card,
      )
      if (found !== undefined) return { ok: true, value: { tenant, conversation, message: found.ts } }
      return { ok: true, value: data.has_more ? 'unknown' : 'none' }
    },
  }
}

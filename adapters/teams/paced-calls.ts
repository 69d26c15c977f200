import { randomInt } from 'node:crypto'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatOutcome } from '../../src/ports/ports.ts'
import { createPacer, inWindows, type Pacer, type PaceWindow } from '../shared/pacer.ts'
import type { BotAddress, BotCalls } from './bot-port.ts'

/** Most milliseconds to wait for a turn; a later one makes the card due again then. With a call's deadline, below the lease. */
const PATIENCE_MS = 4_000

const OWN_PACE = 'own_pace'

/** Seconds to wait at first when Teams asks for a pause without saying how long, and at most. */
const FIRST_REST_S = 1
const LONGEST_REST_S = 60

/**
 * Makes the same calls at the rate that Teams allows, per conversation and for the tenant. Refusals for rate count against the
 * app. The calls of other processes are not seen here, so Teams may still ask for a pause: that conversation is then paused.
 */
export function paceCalls(calls: BotCalls, log: FlowDeps['log']): BotCalls {
  const pacer = createTeamsPacer()
  /** The last rest of each conversation in which Teams did not say how long. */
  const rests = new Map<string, number>()
  /** Chooses a rest twice as long as the one before, less a random part, so that not all conversations go on together. */
  const restFor = (conversation: string): number => {
    // Calls that were under way together are refused together, which says no more than one refusal.
    const resting = pacer.pausedUntil(conversation) > performance.now()
    const before = rests.get(conversation)
    const longer = before === undefined ? FIRST_REST_S : Math.min(before * 2, LONGEST_REST_S)
    const rest = resting && before !== undefined ? before : longer
    if (rests.size >= MOST_CONVERSATIONS) rests.clear()
    rests.set(conversation, rest)
    return rest - randomInt(Math.floor(rest / 4) + 1)
  }
  async function inTurn<T>(
    what: keyof BotCalls,
    conversation: string,
    call: () => Promise<ChatOutcome<T>>,
  ): Promise<ChatOutcome<T>> {
    const answer = await whenItsTurn(conversation, call)
    if (!answer.ok) {
      const { outcome, code, retry_after } = answer
      const said = { platform: 'teams', what, outcome, reason: code, retry_after }
      if (code === OWN_PACE) log.debug(said, 'a call to Teams was postponed')
      else log.warn(said, 'Teams refused a call')
    }
    return answer
  }
  async function whenItsTurn<T>(
    conversation: string,
    call: () => Promise<ChatOutcome<T>>,
  ): Promise<ChatOutcome<T>> {
    const turn = await pacer.turn(conversation, performance.now() + PATIENCE_MS)
    if ('again_s' in turn) {
      const { again_s: retry_after } = turn
      return { ok: false, outcome: 'rate_limited', retry_after, code: OWN_PACE, duration_ms: 0 }
    }
    try {
      const answer = await call()
      if (answer.ok) rests.delete(conversation)
      if (answer.ok || answer.outcome !== 'rate_limited') return answer
      const { retry_after = restFor(conversation) } = answer
      pacer.pause(conversation, retry_after)
      return { ...answer, retry_after }
    } finally {
      pacer.ended(conversation, turn.at)
    }
  }
  return {
    async post(to, message) {
      const sent = await inTurn('post', keyOf(to), () => calls.post(to, message))
      if (sent.ok && to.kind === 'unmet') pacer.count(sent.value.conversation_id)
      return sent
    },
    update: (conversation, id, message) =>
      inTurn('update', keyOf(conversation), () => calls.update(conversation, id, message)),
    resolveUser: (conversation, user) =>
      inTurn('resolveUser', `members of ${keyOf(conversation)}`, () => calls.resolveUser(conversation, user)),
  }
}

/** Returns the key of a conversation; threads count with their channel. */
function keyOf(to: BotAddress): string {
  if (to.kind === 'unmet') return to.user
  return to.kind === 'thread' ? to.channel : (to.conversation_id.split(';')[0] ?? to.conversation_id)
}

/** The limits of Teams for one bot in one conversation ("Optimize your bot with rate limiting in Teams"). */
export const CONVERSATION_PACE: readonly PaceWindow[] = [
  { calls: 7, ms: 1_000 },
  { calls: 8, ms: 2_000 },
  { calls: 60, ms: 30_000 },
  { calls: 1_800, ms: 3_600_000 },
]

/** The limit in one tenant; sources name 30 and 50 calls a second. */
export const TENANT_PACE: readonly PaceWindow[] = [{ calls: 30, ms: 1_000 }]

const MOST_CONVERSATIONS = 2_000

/** Creates a pacer for each conversation, and for the tenant as a whole. */
export function createTeamsPacer(conversation = CONVERSATION_PACE, tenant = TENANT_PACE): Pacer<string> {
  return createPacer({
    lanesOf: (id) => [
      [`in ${id}`, () => inWindows(conversation)],
      ['tenant', () => inWindows(tenant)],
    ],
    pauseKey: (id) => id,
    most: MOST_CONVERSATIONS,
  })
}

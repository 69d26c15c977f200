import { setTimeout as wait } from 'node:timers/promises'
import type { ChatOutcome } from '../../src/flow/chat-ports.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { BotAddress, BotCalls } from './bot-port.ts'
import { createPacer } from './pacer.ts'

/** A turn that comes later is not waited for: the card is due again then. Together with a call's deadline below its lease. */
const PATIENCE_MS = 4_000

const OWN_PACE = 'own_pace'

/** Teams asked for patience and did not say how much. */
const SHORT_REST_S = 1

/**
 * The same calls at the pace that Teams takes, per conversation and for the tenant. Being refused for pace counts against the
 * app; other processes' calls are not seen here, so that Teams may still ask for patience: it gets it, in that conversation.
 */
export function paceCalls(calls: BotCalls, log: FlowDeps['log']): BotCalls {
  const pacer = createPacer()
  async function inTurn<T>(
    what: keyof BotCalls,
    conversation: string,
    call: () => Promise<ChatOutcome<T>>,
  ): Promise<ChatOutcome<T>> {
    const answer = await whenItsTurn(conversation, call)
    if (!answer.ok) {
      const { outcome, code, retry_after } = answer
      const said = { platform: 'teams', what, outcome, reason: code, retry_after }
      if (code === OWN_PACE) log.debug(said, 'a call to Teams waits')
      else log.warn(said, 'Teams did not accept a call')
    }
    return answer
  }
  async function whenItsTurn<T>(
    conversation: string,
    call: () => Promise<ChatOutcome<T>>,
  ): Promise<ChatOutcome<T>> {
    const now = performance.now()
    const { at, taken } = pacer.take(conversation, now, PATIENCE_MS)
    if (!taken) return later(at - now)
    if (at > now) await wait(Math.ceil(at - now))
    const rest = pacer.restsUntil(conversation) - performance.now()
    if (rest > 0) return later(rest)
    try {
      const answer = await call()
      if (!answer.ok && answer.outcome === 'rate_limited') {
        pacer.rest(conversation, performance.now(), answer.retry_after ?? SHORT_REST_S)
      }
      return answer
    } finally {
      pacer.ended(conversation, at, performance.now())
    }
  }
  return {
    async post(to, message) {
      const sent = await inTurn('post', keyOf(to), () => calls.post(to, message))
      if (sent.ok && to.kind === 'unmet') pacer.count(sent.value.conversation_id, performance.now())
      return sent
    },
    update: (place, id, message) => inTurn('update', keyOf(place), () => calls.update(place, id, message)),
    resolveUser: (place, user) =>
      inTurn('resolveUser', `members of ${keyOf(place)}`, () => calls.resolveUser(place, user)),
  }
}

function later(ms: number): ChatOutcome<never> {
  const retry_after = Math.ceil(ms / 1000)
  return { ok: false, outcome: 'rate_limited', retry_after, code: OWN_PACE, duration_ms: 0 }
}

/** Threads count with their channel. */
function keyOf(to: BotAddress): string {
  if (to.kind === 'unmet') return to.user
  return to.kind === 'thread' ? to.channel : (to.conversation_id.split(';')[0] ?? to.conversation_id)
}

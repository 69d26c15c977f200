import { setTimeout as wait } from 'node:timers/promises'
import type { ChatOutcome } from '../../src/flow/chat-ports.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { BotAddress, BotCalls, BotMessage, SentMessage } from './bot-port.ts'

/** Somebody waits for the answer. */
const MOST_TRIES = 3
const LONGEST_WAIT_S = 10

/**
 * Says something to somebody who asked. Answers are in no outbox; what was refused for pace is said a little later, since
 * that refusal alone says that nothing was posted.
 */
export async function say(
  calls: Pick<BotCalls, 'post'>,
  log: FlowDeps['log'],
  to: BotAddress,
  message: BotMessage,
): Promise<ChatOutcome<SentMessage>> {
  for (let tries = 1; ; tries += 1) {
    const said = await calls.post(to, message)
    if (said.ok) return said
    const { outcome, code, retry_after = 1 } = said
    if (outcome === 'rate_limited' && tries < MOST_TRIES && retry_after <= LONGEST_WAIT_S) {
      await wait(retry_after * 1000)
      continue
    }
    log.warn({ outcome, reason: code }, 'an answer could not be given in Teams')
    return said
  }
}

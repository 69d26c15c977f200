import { expect, it } from 'vitest'
import type { BotCalls, BotConversation } from '../../../adapters/teams/bot-port.ts'
import { paceCalls } from '../../../adapters/teams/paced-calls.ts'
import type { ChatOutcome } from '../../../src/ports/ports.ts'

const MESSAGE = { card: {}, text: 'a card' }
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
const PATIENCE: ChatOutcome<never> = {
  ok: false,
  outcome: 'rate_limited',
  retry_after: 30,
  code: 'http_error',
  duration_ms: 1,
}

const conversation = (conversation_id: string): BotConversation => ({
  kind: 'person',
  service_url: 'https://smba.trafficmanager.net/emea/',
  conversation_id,
})

/** Teams, which asks for patience in conversation `a:1` and its threads; `asked` is what it was called for. */
function impatient() {
  const asked: string[] = []
  const answer = (conversation: string) => {
    asked.push(conversation)
    return conversation.startsWith('a:1')
  }
  const calls: BotCalls = {
    async post(to) {
      const conversation_id = 'conversation_id' in to ? to.conversation_id : to.kind
      if (answer(conversation_id)) return PATIENCE
      return { ok: true, value: { conversation_id, message_id: '1' }, duration_ms: 1 }
    },
    async update({ conversation_id }) {
      return answer(conversation_id) ? PATIENCE : { ok: true, value: undefined, duration_ms: 1 }
    },
    async resolveUser() {
      return { ok: true, value: {}, duration_ms: 1 }
    },
  }
  return { asked, paced: paceCalls(calls, SILENT) }
}

it('asks nothing of a conversation that Teams wants to rest, and others go on', async () => {
  const { asked, paced } = impatient()
  expect(await paced.post(conversation('a:1'), MESSAGE)).toEqual(PATIENCE)
  for (const again of [
    await paced.post(conversation('a:1'), MESSAGE),
    await paced.update(conversation('a:1;messageid=7'), '7', MESSAGE),
  ]) {
    expect(again).toEqual({
      ok: false,
      outcome: 'rate_limited',
      retry_after: 30,
      code: 'own_pace',
      duration_ms: 0,
    })
  }
  expect(await paced.post(conversation('a:2'), MESSAGE)).toMatchObject({ ok: true })
  expect(asked).toEqual(['a:1', 'a:2'])
})

it('sends away who waited for a turn while the rest began', async () => {
  const { asked, paced } = impatient()
  const answers = await Promise.all(Array.from({ length: 9 }, () => paced.post(conversation('a:1'), MESSAGE)))
  expect(asked).toHaveLength(7)
  const sentAway = answers.flatMap((answer) => (!answer.ok && answer.code === 'own_pace' ? [answer] : []))
  expect(sentAway).toMatchObject([{ outcome: 'rate_limited' }, { outcome: 'rate_limited' }])
  for (const { retry_after } of sentAway) expect(retry_after).toBeGreaterThan(20)
})

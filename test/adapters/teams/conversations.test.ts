import { describe, expect, it } from 'vitest'
import type { BotUser } from '../../../adapters/teams/bot-port.ts'
import { createConversations } from '../../../adapters/teams/conversations.ts'
import { createChatConversationStores } from '../../../src/store/chat/chat-conversations.ts'
import { clockOf } from '../../support/clock.ts'
import { usePeopleStores } from '../../support/people-stores.ts'

const stores = usePeopleStores()
const TENANT = '99999999-8888-4777-8666-555555555555'
const CONVERSATION = {
  kind: 'person',
  service_url: 'https://smba.trafficmanager.net/teams/',
  conversation_id: 'a:1',
} as const

/** Somebody of the tenant who has just written, and the store that keeps them. */
async function somebodyWhoWrote(user: string) {
  const store = createChatConversationStores(stores().connection)
  const settings = { tenantId: TENANT, serviceHosts: [] }
  let now = Date.now()
  const conversations = createConversations(
    settings,
    store,
    clockOf(() => now),
  )
  const later = (seconds: number) => {
    now += seconds * 1000
  }
  const source = { conversation: CONVERSATION, activity_id: '1', user }
  const met = await conversations.meet(source)
  if (met === undefined) throw new Error('not met')
  const told = (one: typeof met, value: BotUser) =>
    conversations.ask(one, { resolveUser: async () => ({ ok: true, value, duration_ms: 0 }) })
  return { conversations, later, told, source, met, known: () => store('teams', TENANT).find(user) }
}

describe('what the directory says of a person', () => {
  it('is added to what is known of them, cut and normalised; without an address, it takes the former one away', async () => {
    const { told, met, known } = await somebodyWhoWrote('0a0a0a0a-1b1b-4c4c-8d8d-000000000001')
    expect(await known()).toEqual(met)
    const { unasked, ...kept } = met
    expect(unasked).toBe(met.who)
    const facts = { ...kept, email: 'person@example.com', told_at: expect.any(Date) }
    await told(met, { email: 'Person@Example.com', name: 'x'.repeat(300) })
    expect(await known()).toEqual({ ...facts, name: 'x'.repeat(200) })
    await told(met, { name: 'Bea' })
    const { email: _former, ...rest } = facts
    expect(await known()).toEqual({ ...rest, name: 'Bea' })
    await told(met, {})
    expect(await known()).toEqual({ ...rest, name: 'Bea' })
  })

  it('does not restore a member who left while it was asked, whenever that was', async () => {
    const { conversations, told, source, met, known } = await somebodyWhoWrote(
      '0a0a0a0a-1b1b-4c4c-8d8d-000000000002',
    )
    await conversations.leave(source)
    await told(met, { email: 'person@example.com' })
    expect(await known()).toBeUndefined()
    for (let round = 0; round < 20; round += 1) {
      await conversations.meet(source)
      await Promise.all([told(met, { email: 'person@example.com' }), conversations.leave(source)])
      expect(await known()).toBeUndefined()
    }
  })

  it('is asked for again where there was no answer: not at once, and not for ever', async () => {
    const user = '0a0a0a0a-1b1b-4c4c-8d8d-000000000003'
    const { conversations, later, known } = await somebodyWhoWrote(user)
    let asked = 0
    const silent = async () => {
      asked += 1
      return { ok: false, outcome: 'failed', code: 'HTTP503', duration_ms: 0 } as const
    }
    for (let times = 1; times <= 30; times += 1) {
      for (let at_once = 0; at_once < 3; at_once += 1)
        expect(await conversations.askAgain({ resolveUser: silent })).toMatchObject({ code: 'HTTP503' })
      expect(asked).toBe(times)
      later(11)
    }
    expect(await conversations.askAgain({ resolveUser: silent })).toBeUndefined()
    expect([asked, (await known())?.email]).toEqual([30, undefined])
  })
})

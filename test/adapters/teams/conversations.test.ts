import { describe, expect, it } from 'vitest'
import { createConversations } from '../../../adapters/teams/conversations.ts'
import { createChatConversationStore } from '../../../src/store/chat-conversations.ts'
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
  const store = createChatConversationStore(stores().connection)
  const settings = { tenantId: TENANT, serviceHosts: [] }
  const conversations = createConversations(settings, store, { now: () => new Date() })
  const source = { conversation: CONVERSATION, activity_id: '1', user }
  const met = await conversations.meet(source)
  if (met === undefined) throw new Error('not met')
  return { conversations, source, met, known: () => store.find('teams', TENANT, user) }
}

describe('what the directory says of a person', () => {
  it('is added to what is known of them, cut and normalised, and takes nothing away', async () => {
    const { conversations, met, known } = await somebodyWhoWrote('0a0a0a0a-1b1b-4c4c-8d8d-000000000001')
    expect(await known()).toEqual(met)
    await conversations.describe(met, { email: 'Person@Example.com', name: 'x'.repeat(300) })
    expect(await known()).toEqual({ ...met, email: 'person@example.com', name: 'x'.repeat(200) })
    await conversations.describe(met, {})
    await conversations.describe(met, { name: 'Bea' })
    expect(await known()).toEqual({ ...met, email: 'person@example.com', name: 'Bea' })
  })

  it('does not bring back whoever left while it was asked, whenever that was', async () => {
    const { conversations, source, met, known } = await somebodyWhoWrote(
      '0a0a0a0a-1b1b-4c4c-8d8d-000000000002',
    )
    await conversations.leave(source)
    await conversations.describe(met, { email: 'person@example.com' })
    expect(await known()).toBeUndefined()
    for (let round = 0; round < 20; round += 1) {
      await conversations.meet(source)
      await Promise.all([
        conversations.describe(met, { email: 'person@example.com' }),
        conversations.leave(source),
      ])
      expect(await known()).toBeUndefined()
    }
  })
})

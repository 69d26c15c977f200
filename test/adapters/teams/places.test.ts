import { describe, expect, it } from 'vitest'
import { createPlaces } from '../../../adapters/teams/places.ts'
import { createChatConversationStore } from '../../../src/store/chat-conversations.ts'
import { usePeopleStores } from '../../support/people-stores.ts'

const stores = usePeopleStores()
const TENANT = '99999999-8888-4777-8666-555555555555'
const PLACE = {
  kind: 'person',
  service_url: 'https://smba.trafficmanager.net/teams/',
  conversation_id: 'a:1',
} as const

/** Somebody of the tenant who has just written, and the store that keeps them. */
async function somebodyWhoWrote(user: string) {
  const store = createChatConversationStore(stores().connection)
  const settings = { tenantId: TENANT, serviceHosts: [] }
  const places = createPlaces(settings, store, { now: () => new Date() })
  const source = { place: PLACE, activity_id: '1', user }
  const met = await places.meet(source)
  if (met === undefined) throw new Error('not met')
  return { places, source, met, known: () => store.find('teams', TENANT, user) }
}

describe('what the directory says of a person', () => {
  it('is added to what is known of them, cut and normalised, and takes nothing away', async () => {
    const { places, met, known } = await somebodyWhoWrote('0a0a0a0a-1b1b-4c4c-8d8d-000000000001')
    expect(await known()).toEqual(met)
    await places.describe(met, { email: 'Person@Example.com', name: 'x'.repeat(300) })
    expect(await known()).toEqual({ ...met, email: 'person@example.com', name: 'x'.repeat(200) })
    await places.describe(met, {})
    await places.describe(met, { name: 'Bea' })
    expect(await known()).toEqual({ ...met, email: 'person@example.com', name: 'Bea' })
  })

  it('does not bring back whoever left while it was asked, whenever that was', async () => {
    const { places, source, met, known } = await somebodyWhoWrote('0a0a0a0a-1b1b-4c4c-8d8d-000000000002')
    await places.leave(source)
    await places.describe(met, { email: 'person@example.com' })
    expect(await known()).toBeUndefined()
    for (let round = 0; round < 20; round += 1) {
      await places.meet(source)
      await Promise.all([places.describe(met, { email: 'person@example.com' }), places.leave(source)])
      expect(await known()).toBeUndefined()
    }
  })
})

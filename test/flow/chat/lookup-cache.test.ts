import { expect, it } from 'vitest'
import type { ChatIdentity } from '../../../src/domain/chat.ts'
import { createLookup } from '../../../src/flow/tell/cards/find-addresses.ts'
import type { ChatPort } from '../../../src/ports/ports.ts'
import { createChatPlatform } from '../../support/chat-platform.ts'
import { clockOf } from '../../support/clock.ts'

const HERE: ChatIdentity = { platform: 'teams', tenant: 'T1', user: 'U1' }

it('remembers nothing of a platform whose people we know ourselves: who adds the app is found at once, who leaves is not', async () => {
  const platform = createChatPlatform('teams')
  const chat: ChatPort = { ...platform, lookupIsLocal: true }
  const lookup = createLookup(clockOf(() => 0))
  const found = async () => {
    const answer = await lookup.find(chat, 'T1', 'new@example.com')
    return answer.ok ? answer.value : answer.outcome
  }
  expect(await found()).toBeUndefined()
  platform.members.set('new@example.com', HERE)
  expect(await found()).toEqual(HERE)
  platform.members.delete('new@example.com')
  expect(await found()).toBeUndefined()
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { stored } from '../../support/caller.ts'
import { createChatPlatform } from '../../support/chat-platform.ts'
import { askFor, inChannel, linkTo, newSpeaker, proofForLink, say } from '../../support/chat-speaker.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ work: true, chats: [createChatPlatform()] })
})
afterAll(() => service.close())

async function check() {
  const { deps, connection } = service.composition
  return checkTrail({ trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) })
}

/** What the check finds once all entries are in the trail. */
async function findings() {
  await expect.poll(async () => (await check()).waiting).toBe(0)
  return (await check()).findings
}

/** Somebody with a linked identity and a channel. */
async function withChat(email: string): Promise<{ person: EnrolledPerson; accountId: string }> {
  const person = await enrolWithPasskey(service, email)
  const speaker = newSpeaker()
  await linkTo(service, person, speaker)
  const token = await askFor(service, inChannel(speaker, 'C1'), 'channel')
  const proof = await proofForLink(service, person, token)
  expectStatus(await person.browser.post('/api/v1/chat-links/use', { token, proof }), 200)
  const gone = newSpeaker()
  await linkTo(service, person, gone)
  expect(await say(service, gone, 'unlink')).toMatchObject({ heading: 'Unlinked' })
  const user = await service.composition.deps.users.find(person.userId)
  return { person, accountId: user?.account_id ?? '' }
}

it('T86: the trail tells of every link, unlinking and channel, and of none too many', async () => {
  const { accountId, person } = await withChat('ada@example.com')
  expect(await findings()).toEqual([])
  const { trail } = service.composition.deps
  const told = await trail.list({ account_id: accountId, limit: 100 })
  // In any order: what waits in people and in accounts at the same moment is told of accounts first.
  const types = told.map(({ entry }) => entry?.type).sort()
  expect(types.filter((type) => type?.startsWith('ch'))).toEqual([
    'channel.added',
    'chat.linked',
    'chat.linked',
    'chat.unlinked',
  ])
  // What is in the trail is taken out of its document a moment later.
  const untold = { _id: accountId, audit: [], outbox_token: { $exists: false } }
  await expect.poll(() => stored(service, 'accounts').countDocuments(untold)).toBe(1)
  const found = await service.composition.deps.accounts.find(accountId)
  expect(Object.keys(found ?? {})).not.toContain('audit')
  expect(found?.owner_id).toBe(person.userId)
})

it('T86: the check finds an identity and a channel that somebody wrote into the store', async () => {
  const { userId } = await enrolWithPasskey(service, 'eve@example.com')
  const accountId = (await service.composition.deps.users.find(userId))?.account_id ?? ''
  expect(await findings()).toEqual([])
  const identity = { platform: 'slack', tenant: 'T1', user: 'U-evil', linked_at: new Date() }
  const chat = [{ key: 'slack:T1:U-evil', ...identity }]
  await stored(service, 'users').updateOne({ _id: userId }, { $set: { chat } })
  const channels = [{ platform: 'slack', tenant: 'T1', channel: 'C-evil' }]
  await stored(service, 'accounts').updateOne({ _id: accountId }, { $set: { channels } })
  expect(await findings()).toEqual([
    { code: 'not_told', collection: 'users', id: userId, type: 'chat.linked' },
    { code: 'not_told', collection: 'accounts', id: accountId, type: 'channel.added' },
  ])
})

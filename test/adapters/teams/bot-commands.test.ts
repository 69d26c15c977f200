import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { waitUntil } from '../../support/chat-platform.ts'
import type { TeamsMessageState, TeamsPerson } from '../../support/teams-connector.ts'
import { BOT, type TeamsReply } from '../../support/teams-driver.ts'
import { addTeamsUser, personNumber, startTeams, TEAMS_PASSWORD } from '../../support/teams-service.ts'

let setting: Awaited<ReturnType<typeof startTeams>>
let linked: TeamsPerson
beforeAll(async () => {
  setting = await startTeams({ people: 5, connector: { strict: 0 } })
  linked = personNumber(setting, 1)
  await addTeamsUser(setting, 1, true)
})
afterAll(() => setting.close())
beforeEach(() => setting.connector.behave(() => undefined))

/** What a message says, as one text. */
const said = (message: TeamsMessageState | undefined) => JSON.stringify(message?.shown.at(-1))
const newIn = (to: string, before: number) => setting.connector.in(to).slice(before)

/** Waits for exactly so many answers there. */
async function answersTo(to: string, act: () => Promise<TeamsReply>, count = 1): Promise<string[]> {
  const before = setting.connector.in(to).length
  const reply = await act()
  expect(reply).toMatchObject({ status: 200, text: '' })
  expect(reply.ms).toBeLessThan(2_000)
  await waitUntil(() => expect(newIn(to, before)).toHaveLength(count))
  return newIn(to, before).map(said)
}

describe('a message in one’s own chat', () => {
  it.each([
    'verify req_00000000000000000000000000',
    '/verify req_00000000000000000000000000',
    '/countersign verify req_x',
  ])('%s is answered with the verdict', async (text) => {
    const [answer] = await answersTo(linked.id, () => setting.driver.message(linked, text))
    expect(answer).toContain('Unknown')
  })

  it.each(['help', '', '   ', '/help', '/countersign', '<at>Countersign</at> help'])(
    '“%s” is answered with help',
    async (text) => {
      const entities = [{ type: 'mention', text: '<at>Countersign</at>', mentioned: BOT }]
      const [answer] = await answersTo(linked.id, () =>
        setting.driver.message(linked, text, { activity: { entities } }),
      )
      expect(answer).toContain('verify <id or receipt>')
      // Whoever is there reads every answer: there is nothing to share.
      expect(answer).not.toContain('share')
      expect(answer).toContain('person-1@example.com')
    },
  )

  it('is a card with words for notifications, in the conversation it was said in', async () => {
    await answersTo(linked.id, () => setting.driver.message(linked, 'help'))
    const message = setting.connector.in(linked.id).at(-1)
    const [shown] = message?.shown ?? []
    expect(shown).toMatchObject({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: { type: 'AdaptiveCard', version: '1.5' },
        },
      ],
    })
    expect(shown.summary.length).toBeGreaterThan(5)
    expect(shown).not.toHaveProperty('text')
  })

  it('is answered once, however often it is delivered', async () => {
    const activity = { id: '1700000001234' }
    const before = setting.connector.in(linked.id).length
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => setting.driver.message(linked, 'help', { activity })),
    )
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    await setting.driver.message(linked, 'verify req_x')
    await waitUntil(() => expect(newIn(linked.id, before)).toHaveLength(2))
    const fresh = newIn(linked.id, before).map(said)
    expect(fresh.filter((text) => text.includes('verify <id or receipt>'))).toHaveLength(1)
  })

  it('with the same id in another conversation is another message', async () => {
    const second = personNumber(setting, 2)
    const activity = { id: '1700000005678' }
    await answersTo(linked.id, () => setting.driver.message(linked, 'help', { activity }))
    await answersTo(second.id, () => setting.driver.message(second, 'help', { activity }))
  })

  it('is answered a little later when Teams asks for patience, and not twice', async () => {
    setting.connector.behave(({ what, nth }) =>
      what === 'post' && nth > 0 && first() ? { status: 429, retryAfter: 1 } : undefined,
    )
    let refused = false
    const first = () => {
      if (refused) return false
      refused = true
      return true
    }
    await answersTo(linked.id, () => setting.driver.message(linked, 'help'))
    expect(refused).toBe(true)
  })

  it('is not answered twice when the connection breaks after the answer was posted', async () => {
    const person = personNumber(setting, 3)
    setting.connector.behave(({ what }) => (what === 'post' ? 'lost' : undefined))
    await answersTo(person.id, () => setting.driver.message(person, 'help'))
    const warned = () =>
      setting.service.logged.filter(({ message }) => message === 'sending an answer in Teams failed')
    await waitUntil(() => expect(warned().length).toBeGreaterThan(0))
    expect(setting.connector.in(person.id)).toHaveLength(1)
  })

  it('by somebody who is not linked says how to link, and whom it is for', async () => {
    const person = personNumber(setting, 4)
    const [answer] = await answersTo(person.id, () => setting.driver.message(person, 'help'))
    expect(answer).toContain('not linked yet')
  })
})

describe('a message in a channel', () => {
  it('with a mention is answered in its thread', async () => {
    const { channel, connector, driver } = setting
    const [answer] = await answersTo(channel, () => driver.message(linked, 'verify req_x', { channel }))
    expect(answer).toContain('Unknown')
    expect(connector.in(channel).at(-1)?.conversation).toBe(`${channel};messageid=1699999999999`)
  })

  it('without a mention is not for us', async () => {
    const { channel, driver, connector } = setting
    const before = connector.in(channel).length
    expect(
      (await driver.message(linked, 'x', { channel, activity: { text: 'verify req_x', entities: [] } }))
        .status,
    ).toBe(200)
    const other = { type: 'mention', text: '<at>Ana</at>', mentioned: { id: '29:ana' } }
    await driver.message(linked, 'x', {
      channel,
      activity: { text: '<at>Ana</at> verify req_x', entities: [other] },
    })
    await answersTo(channel, () => driver.message(linked, 'verify req_y', { channel }))
    expect(connector.in(channel)).toHaveLength(before + 1)
  })

  it('never learns who the speaker is', async () => {
    const { channel, driver } = setting
    const [answer] = await answersTo(channel, () => driver.message(linked, 'help', { channel }))
    expect(answer).toContain('verify <id or receipt>')
    expect(answer).not.toContain('person-1@example.com')
  })

  it.each(['link', 'pending', 'browser', 'channel'])(
    '%s is answered to the speaker alone, and the channel is told so',
    async (text) => {
      const { channel, driver, connector, service } = setting
      const own = connector.in(linked.id).length
      const [answer] = await answersTo(channel, () => driver.message(linked, text, { channel }))
      expect(answer).toContain('Sent to you alone')
      expect(answer).not.toContain(service.url)
      expect(newIn(linked.id, own)).toHaveLength(1)
    },
  )

  it('a one-time link goes to whoever asked for it, although the app never met them', async () => {
    const { channel, driver, connector, service } = setting
    const person = personNumber(setting, 5)
    const [answer] = await answersTo(channel, () => driver.message(person, 'link', { channel }))
    expect(answer).not.toContain('/link#')
    expect(said(connector.in(person.id).at(-1))).toContain(`${service.url}/link#`)
    expect(connector.in(person.id).map(({ conversation }) => conversation)).toEqual([`a:${person.id}`])
  })

  it('says so when the speaker cannot be written to', async () => {
    const { channel, driver, connector } = setting
    const person = personNumber(setting, 2)
    connector.installed.delete(person.id)
    const [answer] = await answersTo(channel, () => driver.message(person, 'link', { channel }))
    connector.installed.add(person.id)
    expect(answer).toContain('cannot write to you')
    expect(answer).not.toContain('/link#')
  })

  it.each([
    ['a group chat', {}],
    ['a chat that Teams calls personal and a group', { conversationType: 'personal' }],
  ])('is treated alike in %s', async (_name, kind) => {
    const { driver, connector, group } = setting
    const own = connector.in(linked.id).length
    const tenantId = setting.tenantId
    const activity = {
      conversation: { id: group, conversationType: 'groupChat', isGroup: true, tenantId, ...kind },
    }
    const [answer] = await answersTo(group, () => driver.message(linked, 'pending', { group, activity }))
    expect(answer).toContain('Sent to you alone')
    expect(newIn(linked.id, own)).toHaveLength(1)
  })
})

describe('other things Teams tells of', () => {
  it.each([
    ['a reaction', { type: 'messageReaction', reactionsAdded: [{ type: 'like' }] }],
    ['an edited message', { type: 'messageUpdate', text: 'help' }],
    ['somebody typing', { type: 'typing' }],
    ['an event', { type: 'event', name: 'application/vnd.microsoft.readReceipt' }],
    [
      'a conversation without an id',
      { type: 'message', text: 'help', conversation: { conversationType: 'personal' } },
    ],
  ])('are taken and left alone: %s', async (_name, activity) => {
    const before = setting.connector.calls.length
    const reply = await setting.driver.message(linked, 'help', { activity })
    expect(reply).toMatchObject({ status: 200, text: '' })
    expect(setting.connector.calls).toHaveLength(before)
  })

  it.each(['composeExtension/query', 'signin/verifyState', 'task/fetch', ''])(
    'an invoke that we do not know is told so: %s',
    async (name) => {
      const activity = { type: 'invoke', name, value: {} }
      const reply = await setting.driver.message(linked, '', { activity })
      expect(reply).toMatchObject({ status: 501, text: '' })
    },
  )
})

describe('the log', () => {
  it('holds no secret and no token', async () => {
    const logged = JSON.stringify(setting.service.logged)
    expect(logged).not.toContain(TEAMS_PASSWORD)
    expect(logged).not.toMatch(/Bearer [A-Za-z0-9]/)
    expect(setting.service.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})

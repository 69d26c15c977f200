import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChatConversationStores } from '../../../src/store/chat/chat-conversations.ts'
import { auditOf } from '../../support/audit.ts'
import { stored as storedIn } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import type { TeamsPerson } from '../../support/teams-connector.ts'
import { BOT } from '../../support/teams-driver.ts'
import { personNumber, startTeams } from '../../support/teams-service.ts'

let setting: Awaited<ReturnType<typeof startTeams>>
beforeAll(async () => {
  setting = await startTeams({ people: 13, env: { TEAMS_TENANT_NAME: 'Example Ltd' } })
})
afterAll(() => setting.close())

const stored = (who: string) =>
  setting.service.composition.connection
    .collection<{ _id: string; reference: string; email?: string }>('chat_conversations')
    .findOne({ _id: `teams:${setting.tenantId}:${who}` })

/** Known with an address, which comes from the directory after the answer. */
async function knownWithEmail(person: TeamsPerson) {
  await waitUntil(async () => expect((await stored(person.id))?.email).toBeDefined())
  return stored(person.id)
}

const helpTo = (person: TeamsPerson) =>
  setting.connector.in(person.id).filter(({ shown: [first] }) => JSON.stringify(first).includes('verify <id'))

describe('a person', () => {
  it('is known from installing the app: where, under which name and address', async () => {
    const person = personNumber(setting, 1)
    expect(await setting.driver.installation(person, 'add')).toMatchObject({ status: 200, text: '' })
    const known = await knownWithEmail(person)
    expect(known).toMatchObject({
      platform: 'teams',
      tenant: setting.tenantId,
      who: person.id,
      kind: 'person',
      email: 'person-1@example.com',
      name: 'Person 1',
    })
    expect(JSON.parse(known?.reference ?? '')).toEqual({
      kind: 'person',
      service_url: setting.connector.serviceUrl,
      conversation_id: `a:${person.id}`,
    })
  })

  it('is told once what the app does, however often Teams says that they installed it', async () => {
    const person = personNumber(setting, 2)
    const fields = { activity: { id: '1700000000001' } }
    await setting.driver.installation(person, 'add', fields)
    await setting.driver.installation(person, 'add', fields)
    await setting.driver.update(person, { membersAdded: [BOT] })
    await setting.driver.installation(person, 'add-upgrade')
    await waitUntil(() => expect(helpTo(person)).toHaveLength(1))
    await setting.driver.message(person, 'help')
    await waitUntil(() => expect(helpTo(person)).toHaveLength(2))
  })

  it('is known from any message, by the id in lower case', async () => {
    const person = personNumber(setting, 3)
    const from = { id: `29:${person.id}`, name: person.name, aadObjectId: person.id.toUpperCase() }
    await setting.driver.message(person, 'help', { activity: { from } })
    expect(await knownWithEmail(person)).toMatchObject({ kind: 'person', email: 'person-3@example.com' })
  })

  it('is looked up under the name that Teams gives them in the conversation', async () => {
    const person = personNumber(setting, 6)
    const from = { id: '29:somebody', aadObjectId: person.id }
    const refused = setting.connector.refused.length
    await setting.driver.message(person, 'help', { activity: { from } })
    await waitUntil(() => expect(setting.connector.refused.slice(refused)).toEqual([404]))
    expect(await stored(person.id)).not.toHaveProperty('email')
    await setting.driver.message(person, 'help')
    expect(await knownWithEmail(person)).toMatchObject({ email: 'person-6@example.com' })
  })

  it('is asked for again when a card looks for an address and the directory did not answer', async () => {
    const person = personNumber(setting, 9)
    const [port] = setting.service.composition.deps.chats
    const look = () => port?.lookup(setting.tenantId, 'person-9@example.com')
    setting.connector.behave(({ what }) => (what === 'member' ? { status: 503 } : undefined))
    const refused = setting.connector.refused.length
    await setting.driver.installation(person, 'add')
    await waitUntil(() => expect(setting.connector.refused.slice(refused)).toEqual([503]))
    setting.connector.behave(() => undefined)
    expect(await look()).toMatchObject({ ok: true, value: { user: person.id } })
    const asked = setting.connector.calls.length
    expect(await port?.lookup(setting.tenantId, 'nobody@example.com')).toMatchObject({ value: undefined })
    expect(setting.connector.calls).toHaveLength(asked)
  })

  it.each([403, 404])('is asked for again after a passing %d of the directory', async (status) => {
    const person = personNumber(setting, status === 403 ? 10 : 11)
    const [port] = setting.service.composition.deps.chats
    setting.connector.behave(({ what }) => (what === 'member' ? { status, code: 'NotNow' } : undefined))
    await setting.driver.installation(person, 'add-upgrade')
    await waitUntil(async () => expect(await stored(person.id)).toMatchObject({ unanswered: 1 }))
    setting.connector.behave(() => undefined)
    const look = await port?.lookup(setting.tenantId, person.email?.toLowerCase() ?? '')
    expect(look).toMatchObject({ ok: true, value: { user: person.id } })
  })

  it('is addressed no more by an address of a day ago that passed to another person', async () => {
    const { connector, driver, service, tenantId } = setting
    const [former, holder] = [personNumber(setting, 12), personNumber(setting, 13)]
    const [port] = service.composition.deps.chats
    const look = () => port?.lookup(tenantId, 'person-12@example.com')
    const yesterday = () =>
      storedIn(service, 'chat_conversations').updateOne(
        { who: former.id },
        { $set: { told_at: new Date(Date.now() - 24 * 3_600_000 - 60_000) } },
      )
    await driver.installation(former, 'add-upgrade')
    await knownWithEmail(former)
    former.email = 'renamed@example.com'
    holder.email = 'person-12@example.com'
    await yesterday()
    // As long as the directory does not say whose it is, it is nobody's.
    connector.behave(({ what }) => (what === 'member' ? { status: 503 } : undefined))
    expect(await look()).toMatchObject({ ok: false, outcome: 'failed' })
    connector.behave(({ what }) => (what === 'member' ? { status: 404 } : undefined))
    expect(await look()).toMatchObject({ ok: true, value: undefined })
    connector.behave(() => undefined)
    expect(await look()).toMatchObject({ ok: true, value: undefined })
    expect(await stored(former.id)).toMatchObject({ email: 'renamed@example.com' })
    await driver.installation(holder, 'add-upgrade')
    await knownWithEmail(holder)
    expect(await look()).toMatchObject({ ok: true, value: { user: holder.id } })
    former.email = 'renamed-again@example.com'
    await yesterday()
    await driver.message(former, 'help')
    await waitUntil(async () =>
      expect(await stored(former.id)).toMatchObject({ email: 'renamed-again@example.com' }),
    )
    delete former.email
    await yesterday()
    await driver.message(former, 'help')
    await waitUntil(async () => expect(await stored(former.id)).not.toHaveProperty('email'))
  })

  it('is found by the address alone, in this tenant alone', async () => {
    const person = personNumber(setting, 1)
    const { chats } = setting.service.composition.deps
    const [port] = chats
    expect(await port?.lookup(setting.tenantId, 'person-1@example.com')).toMatchObject({
      ok: true,
      value: { platform: 'teams', tenant: setting.tenantId, user: person.id },
    })
    expect(port?.lookupIsLocal).toBe(true)
    expect(await port?.lookup(setting.tenantId, 'stranger@example.com')).toMatchObject({
      ok: true,
      value: undefined,
    })
    expect(await port?.lookup('another-tenant', 'person-1@example.com')).toMatchObject({
      ok: true,
      value: undefined,
    })
  })

  it('is nobody by an address that somebody else has too, until only one of them is left', async () => {
    const { service, tenantId } = setting
    const conversations = createChatConversationStores(service.composition.connection)('teams', tenantId)
    const [port] = service.composition.deps.chats
    const address = 'shared@example.com'
    for (const who of ['one', 'other']) {
      const known = { who, kind: 'person' as const, reference: '{}', email: address, told_at: new Date() }
      await conversations.put({ platform: 'teams', tenant: tenantId, seen_at: new Date(0), ...known })
    }
    expect(await port?.lookup(tenantId, address)).toEqual({ ok: true, value: undefined, duration_ms: 0 })
    await conversations.remove('one')
    expect(await port?.lookup(tenantId, address)).toMatchObject({ ok: true, value: { user: 'other' } })
    await conversations.remove('other')
  })

  it('keeps the address when they write again and the directory does not answer', async () => {
    const person = personNumber(setting, 1)
    setting.connector.behave(({ what }) => (what === 'member' ? { status: 502 } : undefined))
    await setting.driver.installation(person, 'add-upgrade')
    await setting.driver.message(person, 'help')
    await waitUntil(() => expect(setting.connector.refused).toContain(502))
    setting.connector.behave(() => undefined)
    expect(await stored(person.id)).toMatchObject({ email: 'person-1@example.com', name: 'Person 1' })
  })

  it('without a mailbox is addressed by the name they sign in with', async () => {
    const person = personNumber(setting, 4)
    delete person.email
    person.userPrincipalName = 'Person.Four@Example.com'
    await setting.driver.installation(person, 'add-upgrade')
    expect(await knownWithEmail(person)).toMatchObject({ email: 'person.four@example.com' })
  })

  it.each(['remove', 'remove-upgrade'])('is forgotten with the app: %s', async (action) => {
    const person = personNumber(setting, 5)
    await setting.driver.installation(person, 'add-upgrade')
    await knownWithEmail(person)
    await setting.driver.installation(person, action)
    expect(await stored(person.id)).toBeNull()
  })

  it('is forgotten when the bot or they are taken out of the conversation, not when somebody else is', async () => {
    const person = personNumber(setting, 6)
    for (const gone of [BOT, { id: `29:${person.id}` }]) {
      await setting.driver.update(person, { membersAdded: [BOT] })
      await knownWithEmail(person)
      await setting.driver.update(person, { membersRemoved: [{ id: '29:somebody' }] })
      expect(await stored(person.id)).not.toBeNull()
      await setting.driver.update(person, { membersRemoved: [gone] })
      expect(await stored(person.id)).toBeNull()
    }
  })

  it('is shown the organisation by its name where they link', async () => {
    const person = personNumber(setting, 1)
    await setting.driver.message(person, 'link')
    const tokens = () =>
      [...JSON.stringify(setting.connector.in(person.id)).matchAll(/\/link#([\w-]+)/g)].map(
        ([, token]) => token,
      )
    await waitUntil(() => expect(tokens()).not.toEqual([]))
    const token = tokens().at(-1)
    const { browser } = await enrolWithPasskey(setting.service, 'about-to-link@example.com')
    const look = await browser.post('/api/v1/chat-links/look', { token })
    expect(look.body).toMatchObject({ person: 'Person 1', workspace: 'Example Ltd' })
  })

  it('is nobody without an id of the directory', async () => {
    const person = personNumber(setting, 7)
    for (const aadObjectId of [undefined, '', 'U1', '../../etc']) {
      const from = {
        id: `29:${person.id}`,
        name: person.name,
        ...(aadObjectId !== undefined && { aadObjectId }),
      }
      expect((await setting.driver.message(person, 'help', { activity: { from } })).status).toBe(200)
    }
    const conversations = setting.service.composition.connection.collection('chat_conversations')
    expect(await conversations.countDocuments({ who: { $in: ['', 'U1', '../../etc', person.id] } })).toBe(0)
    expect(setting.connector.in(person.id)).toEqual([])
  })
})

describe('a channel', () => {
  it('is known from the team’s installation and from messages, without the thread, and is nobody’s address', async () => {
    const { channel, driver, connector } = setting
    const person = personNumber(setting, 8)
    await driver.installation(person, 'add', { channel, channelName: 'Releases', team: 'Platform' })
    const known = await stored(channel)
    expect(known).toMatchObject({ kind: 'channel', who: channel, name: 'Platform / Releases' })
    expect(known).not.toHaveProperty('email')
    expect(JSON.parse(known?.reference ?? '')).toEqual({
      kind: 'channel',
      service_url: connector.serviceUrl,
      conversation_id: channel,
      team: expect.stringMatching(/^19:/),
    })
    expect(await stored(person.id)).toBeNull()
    await driver.message(person, 'help', { channel })
    expect(await stored(channel)).toMatchObject({ name: 'Platform / Releases' })
  })

  it.each([
    ['the team removes the app', { type: 'installationUpdate', action: 'remove' }],
    ['the channel is deleted', { type: 'conversationUpdate', eventType: 'channelDeleted' }],
  ])('is forgotten when %s', async (_name, { eventType, ...fields }: Record<string, unknown>) => {
    const { channel, driver, tenantId } = setting
    const person = personNumber(setting, 8)
    await driver.installation(person, 'add', { channel })
    expect(await stored(channel)).not.toBeNull()
    const channelData = {
      tenant: { id: tenantId },
      channel: { id: channel },
      ...(eventType !== undefined && { eventType }),
    }
    await driver.installation(person, 'x', { channel, activity: { ...fields, channelData } })
    expect(await stored(channel)).toBeNull()
  })
})

describe('a connected channel', () => {
  it('is said to be without the app from the hour its team removes it, until the team has it again', async () => {
    const { driver, service, tenantId } = setting
    const person = personNumber(setting, 8)
    const { browser, userId } = await enrolWithPasskey(service, 'owner-of-channels@example.com')
    const ids = ['19:releases@thread.tacv2', '19:another-team@thread.tacv2', '19:chat@thread.v2']
    const [releases = '', elsewhere = ''] = ids
    const channels = ids.map((channel) => ({
      platform: 'teams',
      tenant: tenantId,
      channel,
      name: `N ${channel}`,
    }))
    const accounts = storedIn(service, 'accounts')
    await accounts.updateOne({ owner_id: userId }, { $set: { channels } })
    /** Teams names a team by its first channel; there the app comes and goes. */
    const inTeam = (team: string, channel = team, more = {}) => ({
      channel,
      activity: {
        conversation: { id: channel, conversationType: 'channel', tenantId },
        channelData: { tenant: { id: tenantId }, team: { id: team }, ...more },
      },
    })
    await driver.message(person, 'help', { ...inTeam('19:general', releases, { channel: { id: releases } }) })
    await driver.message(person, 'help', { ...inTeam('19:other', elsewhere, { channel: { id: elsewhere } }) })
    const withoutApp = async () => {
      const { data } = (await browser.get('/api/v1/account/channels')).body
      return Array.from(data, (entry) => Object(entry)).filter(({ unavailable }) => unavailable !== undefined)
    }
    expect(await withoutApp()).toEqual([])
    const gone = { eventType: 'channelDeleted', channel: { id: '19:third' } }
    await driver.update(person, {}, inTeam('19:general', '19:third', gone))
    expect(await withoutApp()).toEqual([])
    for (let times = 0; times < 2; times += 1)
      await driver.installation(person, 'remove', inTeam('19:general'))
    expect(await withoutApp()).toMatchObject([
      {
        channel: releases,
        unavailable: {
          since: expect.any(String),
          reason: 'app_removed',
          advice: expect.stringContaining('Add the app to the team or group chat again'),
        },
      },
    ])
    const apps = (await browser.get('/api/v1/account/chat-apps')).body
    expect(apps.teams).toEqual({ configured: true, tenants: [tenantId], name: 'Example Ltd' })
    await driver.update(person, { membersAdded: [BOT] }, inTeam('19:general'))
    await waitUntil(async () => expect(await withoutApp()).toEqual([]))
    const accountOf = () => accounts.findOne({ owner_id: userId })
    const { outbox, _id: subject } = (await accountOf()) ?? expect.unreachable()
    expect(Array.from(Object(outbox), ({ body }) => JSON.parse(body))).toMatchObject([
      { type: 'chat.unavailable', data: { channel: releases, reason: 'app_removed' } },
      { type: 'chat.restored', data: { channel: releases, restored_at: expect.any(String) } },
    ])
    expect(await auditOf(service, { type: 'chat.unavailable', subject })).toHaveLength(1)
    // Both the team's first channel and the others are in it, whatever channel the event names.
    await accounts.updateOne({ owner_id: userId }, { $set: { 'channels.2.channel': '19:general' } })
    const missing = async () => (await withoutApp()).map(({ channel }) => channel)
    const elsewhereInTeam = inTeam('19:general', '19:fourth')
    for (const [away, back, all] of [
      ['teamDeleted', 'teamRestored', true],
      ['TeamHardDeleted', 'teamunarchived', true],
      ['channelDeleted', 'channelRestored', false],
    ] as const) {
      const named = (eventType: string) =>
        inTeam('19:general', releases, { eventType, channel: { id: releases } })
      await driver.update(person, {}, named(away))
      expect(await missing()).toEqual(all ? [releases, '19:general'] : [releases])
      await driver.update(person, {}, named(back))
      await waitUntil(async () => expect(await missing()).toEqual([]))
    }
    await driver.installation(person, 'remove', inTeam('19:general'))
    expect(await missing()).toEqual([releases, '19:general'])
    await driver.installation(person, 'add', elsewhereInTeam)
    await waitUntil(async () => expect(await missing()).toEqual([]))
    await accounts.updateOne({ owner_id: userId }, { $set: { 'channels.2.channel': ids[2] } })
    // What is said of a channel ends with it.
    await driver.update(person, { membersRemoved: [BOT] }, inTeam('19:general'))
    expect(await withoutApp()).toHaveLength(1)
    const channel = { platform: 'teams', tenant: tenantId, channel: releases }
    await browser.post('/api/v1/account/channels/remove', channel)
    expect(await accountOf()).toMatchObject({ channels: [{}, {}], chat_troubles: [] })
  })
})

describe('the address of Teams', () => {
  it('is the one that was seen last, for whoever was never met', async () => {
    const { service, tenantId, connector } = setting
    const conversations = createChatConversationStores(service.composition.connection)('teams', tenantId)
    const newest = await conversations.newest()
    expect(newest?.reference).toContain(connector.serviceUrl)
  })
})

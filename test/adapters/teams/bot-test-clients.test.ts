import { describe, expect, it } from 'vitest'
import { waitUntil } from '../../support/chat-platform.ts'
import { personNumber, useTeams } from '../../support/teams-service.ts'

describe('a service that believes activities without a token, for local test clients', () => {
  it('answers them, shows no token itself, and keeps every other check', async () => {
    const setting = await useTeams({ unauthenticated: true, connector: { open: true } })
    const { connector, driver, identity } = setting
    const person = personNumber(setting, 1)
    const bare = { authorization: null }
    expect(await driver.message(person, 'help', bare)).toMatchObject({ status: 200, text: '' })
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(1))
    const strangers = [
      { channelData: { tenant: { id: '99999999-8888-4777-8666-555555555555' } } },
      { channelId: 'webchat' },
      { serviceUrl: 'https://evil.example/' },
      { serviceUrl: 'http://127.0.0.1:9/teams/' },
    ]
    for (const activity of strangers) {
      expect(await driver.message(person, 'help', { ...bare, activity })).toMatchObject({
        status: 403,
        body: { error: 'chat_sender_refused' },
      })
    }
    expect([...connector.bearers]).toEqual([])
    expect(identity.asked).toEqual({ metadata: 0, keys: 0, tokens: 0 })
  })

  it('is none unless it says so: an activity without a token is refused', async () => {
    const setting = await useTeams({ connector: { open: true } })
    const reply = await setting.driver.message(personNumber(setting, 1), 'help', { authorization: null })
    expect(reply).toMatchObject({ status: 401, body: { error: 'chat_token_refused' } })
    expect(setting.connector.calls).toEqual([])
  })
})

describe('two tenants', () => {
  it('with a bot each never hear of each other, although people and keys have the same names', async () => {
    const [ours, theirs] = [await useTeams(), await useTeams()]
    const person = personNumber(ours, 1)
    const sameId = { ...personNumber(theirs, 1), id: person.id }
    // Their activity, with their token, at our door.
    const activity = theirs.driver.written(sameId, 'help')
    const token = theirs.identity.tokenFor(theirs.connector.serviceUrl)
    const crossed = await ours.driver.post(activity, { authorization: `Bearer ${token}` })
    expect(crossed).toMatchObject({ status: 401, body: { error: 'chat_token_refused' } })
    // The same with a token that is good for our bot: it is still their tenant, and their address.
    const good = await ours.driver.post(activity, {
      token: { claims: { serviceurl: theirs.connector.serviceUrl } },
    })
    expect(good).toMatchObject({ status: 403, body: { error: 'chat_sender_refused' } })
    const conversations = ours.service.composition.connection.collection('chat_conversations')
    expect(await conversations.countDocuments()).toBe(0)
    expect([...ours.connector.calls, ...theirs.connector.calls]).toEqual([])
  })
})

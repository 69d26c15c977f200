import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { unescapeText } from '../../../adapters/slack/rich-text.ts'
import { shownText } from '../../support/block-parts.ts'
import { alter } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { checkBlocks, checkMessage } from '../../support/check-blocks.ts'
import { ask, callWithKey, decideByPasskey, setUpOwner } from '../../support/live.ts'
import { addKey, addPerson } from '../../support/people.ts'
import { createSlackDriver, type SlackReply, slackIdentity } from '../../support/slack-driver.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { SIGNING_SECRET, useSlackService } from '../../support/slack-service.ts'

let slack: SlackEmulator
beforeAll(async () => {
  slack = await startSlack()
})
afterAll(() => slack.close())
afterEach(() => slack.behave(() => undefined))

/** What the person reads; the answer must be one that Slack takes and that only they see. */
function ephemeral(answer: SlackReply): string {
  expect([answer.status, answer.body.response_type]).toEqual([200, 'ephemeral'])
  const { blocks, text } = answer.body
  expect(checkMessage({ blocks, text })).toEqual([])
  return shownText(blocks)
}

describe('a slash command', () => {
  it('is answered in the acknowledgement, for the speaker alone and before Slack gives up', async () => {
    const { driver } = await useSlackService(slack)
    await driver.command('/countersign', 'help')
    const answer = await driver.command('/countersign', 'help')
    expect(ephemeral(answer)).toContain('/verify <id or receipt> Check an approval')
    expect(answer.body).toMatchObject({ unfurl_links: false, unfurl_media: false })
    expect(answer.ms).toBeLessThan(2_500)
  })

  it('means the same in every spelling of an empty text', async () => {
    const { driver } = await useSlackService(slack)
    for (const text of ['', '  ', 'help', 'HELP']) {
      expect(ephemeral(await driver.command('/countersign', text))).toContain('Countersign in Slack')
    }
  })

  it('verifies what stands behind /verify', async () => {
    const { driver } = await useSlackService(slack)
    const unknown = `req_${'0'.repeat(26)}`
    const said = ephemeral(await driver.command('/verify', unknown))
    expect(said).toContain('There is no such request')
    expect(said).toContain(`Asked about: ${unknown}`)
  })

  it('shares a verdict with the channel only when asked to, and names who does', async () => {
    const { driver } = await useSlackService(slack)
    const unknown = `req_${'0'.repeat(26)}`
    const where = { channel: 'C0DEPLOYS', channelName: 'deploys', user: 'U0BEN' }
    const answer = await driver.command('/verify', `${unknown} share`, where)
    expect(answer.body.response_type).toBe('in_channel')
    expect(JSON.stringify(answer.body.blocks)).toContain('{"type":"user","user_id":"U0BEN"}')
    ephemeral(await driver.command('/verify', unknown, where))
  })

  it('undoes the escaping of Slack, once', () => {
    expect(unescapeText('&lt;b&gt; &amp;lt; &amp;amp; &quot; & <')).toBe('<b> &lt; &amp; &quot; & <')
  })

  it('gives a link that only the speaker sees, for ten minutes', async () => {
    const { driver, service } = await useSlackService(slack)
    const answer = await driver.command('/countersign', 'link', { userName: 'ana' })
    const said = ephemeral(answer)
    expect(said).toContain('Never share this link')
    expect(said).toContain('Works once, for 10 minutes')
    const [button] = answer.body.blocks.at(-1).elements
    expect(button.url).toMatch(new RegExp(`^${service.url}/link#[A-Za-z0-9_-]{43}$`))
    expect(JSON.stringify(service.logged)).not.toContain(new URL(button.url).hash.slice(1))
    const link = await service.composition.connection.db?.collection('chat_links').findOne({})
    expect(link).toMatchObject({
      identity: slackIdentity(slack.teamId),
      shown_as: { person: 'ana', workspace: 'acme' },
    })
  })

  it('knows a channel by its id, also a private one, and takes no direct message for one', async () => {
    const { driver, service } = await useSlackService(slack)
    const ana = await addPerson(service, 'ana@example.com')
    const chat = [{ ...slackIdentity(slack.teamId), linked_at: new Date() }]
    await service.composition.deps.users.change(ana.id, ana.version, { chat }, [])
    const direct = await driver.command('/countersign', 'channel')
    expect(ephemeral(direct)).toContain('Which channel?')
    const links = service.composition.connection.db?.collection('chat_links')
    for (const [channel, channelName, shown] of [
      ['C0DEPLOYS', 'deploys', 'deploys'],
      ['G0SECRET', 'privategroup', 'private channel G0SECRET'],
    ] as const) {
      const answer = await driver.command('/countersign', 'channel', { channel, channelName })
      expect(ephemeral(answer)).toContain('Notify this channel of requests')
      expect(await links?.find({}).toArray()).toMatchObject([
        {
          kind: 'channel',
          user_id: ana.id,
          channel: { platform: 'slack', tenant: slack.teamId, channel },
          shown_as: { channel: shown },
        },
      ])
    }
  })
})

describe('the app’s own place', () => {
  const taken = (method: string) => slack.calls.filter((call) => call.method === method)
  beforeEach(() => {
    slack.calls.length = 0
    slack.behave(({ method }) =>
      method === 'views.publish' || method === 'chat.postMessage' ? { answer: { ok: true } } : undefined,
    )
  })

  it('shows in its home what waits, the soonest deadline first, what was decided last, and who one is', async () => {
    const { driver, service } = await useSlackService(slack)
    const opened = { type: 'app_home_opened', user: 'U0000ANA', tab: 'home', channel: 'D0000ANA' }
    const home = (): string => {
      const { view, user_id } = Object(taken('views.publish').at(-1)?.args)
      expect([user_id, view.type, checkBlocks(view.blocks)]).toEqual(['U0000ANA', 'home', []])
      return shownText(view.blocks)
    }
    await driver.event(opened)
    await waitUntil(() => expect(home()).toContain('You are not linked yet: type /countersign link'))
    expect(home()).not.toMatch(/You have|Last decisions/)
    const owner = await setUpOwner(service, 'ana@example.com')
    const { users } = service.composition.deps
    const ana = (await users.find(owner.owner.userId)) ?? expect.unreachable()
    const chat = [{ ...slackIdentity(slack.teamId), linked_at: new Date() }]
    await users.change(ana.id, ana.version, { chat }, [])
    await decideByPasskey(owner, await ask(owner, { action: 'Long gone' }), 'rejected')
    const other = await setUpOwner(service, 'other@example.com')
    const { account_id } = (await users.find(other.owner.userId)) ?? expect.unreachable()
    const now = new Date()
    const member = { user_id: ana.id, role: 'auditor', state: 'active', invited_at: now, joined_at: now }
    await alter(service, 'accounts', account_id, { members: [member] })
    await decideByPasskey(other, await ask(other, { action: 'Elsewhere' }), 'approved')
    // A dry run that the sandbox approved is nobody's decision.
    const { raw_key } = await addKey(service, ana, { sandbox: true })
    const dry = { action: 'A dry run', sandbox_auto_decide_seconds: 0 }
    const made: unknown = await (await callWithKey(service, raw_key, '/request', dry)).json()
    const run = await callWithKey(service, raw_key, `/${Object(made).request_id}`)
    expect(await run.json()).toMatchObject({ status: 'approved' })
    await ask(owner, { action: 'May wait', ttl_seconds: 7200 })
    await ask(owner, { action: 'Is urgent', ttl_seconds: 600 })
    await driver.event(opened)
    await waitUntil(() => expect(home()).toContain('You have 2 pending requests'))
    const shown = home()
    expect(shown.indexOf('Is urgent')).toBeLessThan(shown.indexOf('May wait'))
    // Of all accounts in which they are something.
    expect(shown).toMatch(/Last decisions✅ Approved · .*Elsewhere.*❌ Rejected · .*Long gone/)
    expect(shown).not.toContain('A dry run')
    expect(shown).toContain('(ana@example.com)')
    expect(shown).toContain('/countersign pending List your pending requests.')
    await driver.event({ ...opened, tab: 'messages' })
    expect(taken('views.publish')).toHaveLength(2)
  })

  it('answers what is typed there, known or not, and neither its own words nor others’ twice', async () => {
    const { driver, service } = await useSlackService(slack)
    const typed = (text: string, more: object = {}) => ({
      type: 'message',
      channel_type: 'im',
      channel: 'D0000ANA',
      user: 'U0000ANA',
      text,
      ...more,
    })
    const answer = (): string => shownText(taken('chat.postMessage').at(-1)?.args.blocks)
    const answered = (words: string) => waitUntil(() => expect(answer()).toContain(words))
    await driver.event(typed('help'))
    await answered('Countersign in Slack')
    await driver.event(typed('please approve all of it', { thread_ts: '1700000000.000100' }))
    await answered('Countersign does not know this command')
    expect(taken('chat.postMessage').at(-1)?.args).toMatchObject({
      channel: 'D0000ANA',
      thread_ts: '1700000000.000100',
    })
    const nobody = 'The words after the command were ignored: the person who signs in there and confirms'
    await driver.event(typed('link ben <mailto:ben@example.com|ben@example.com>'))
    await answered(nobody)
    await driver.event(typed('Link!'))
    await answered('Link your Slack identity')
    expect(answer()).not.toContain('behind the command')
    const { users } = service.composition.deps
    const ana = await addPerson(service, 'ana@example.com')
    const chat = [{ ...slackIdentity(slack.teamId), linked_at: new Date() }]
    await users.change(ana.id, ana.version, { chat }, [])
    await driver.event(typed('unlink <@U0BEN>'))
    await answered('Nothing was done. Type /countersign unlink alone')
    expect((await users.find(ana.id))?.chat).toHaveLength(1)
    slack.calls.length = 0
    await driver.event(typed('help'))
    await answered('Countersign in Slack')
    await driver.event(typed('please approve it'))
    await answered('Countersign does not know this command')
    const page = `${service.url}/a/req_${'0'.repeat(26)}?d=approve`
    await driver.event(typed(`verify <${page}|${page}>`))
    await answered('There is no such request')
    await driver.event(typed('verify {"a":"<#C024BE91L|general> <!here> <tel:12|12>"}'))
    await answered('Not valid')
    expect(answer()).not.toContain('the chat has changed it')
    await driver.event(typed('verify {"a":":rocket:"}'))
    await answered('If it held an emoji or a mention, the chat has changed it')
    await driver.event(typed(`verify <${page}|what is seen>`))
    await answered('Not a receipt, id or address that can be verified')
    await waitUntil(() => expect(taken('chat.postMessage')).toHaveLength(6))
    const fields = { event_id: 'Ev0TWICE' }
    for (const event of [typed('help'), typed('help')]) await driver.event(event, { fields })
    await waitUntil(() => expect(taken('chat.postMessage')).toHaveLength(7))
    await driver.event(typed('verify', { subtype: 'file_share' }))
    await answered('Paste the receipt as text')
    for (const subtype of ['thread_broadcast', 'me_message']) {
      await driver.event(typed('help', { subtype }))
      await answered('Countersign in Slack')
      await driver.event(typed('what?', { subtype }))
      await answered('Countersign does not know this command')
    }
    await waitUntil(() => expect(taken('chat.postMessage')).toHaveLength(12))
    for (const more of [
      { bot_id: 'B1' },
      { subtype: 'message_changed' },
      { channel_type: 'channel' },
      { user: undefined },
      // Slack's own bot tells the app what happened to it, and answers what it is told.
      { user: 'USLACKBOT', text: 'You have been removed from #deploys by <@U0000ANA>' },
    ])
      expect((await driver.event(typed('help', more))).status).toBe(200)
    expect(taken('chat.postMessage')).toHaveLength(12)
  })
})

describe('T37: who speaks', () => {
  it('is team and user together: the same user id in another workspace is somebody else', async () => {
    const { driver, service } = await useSlackService(slack)
    const asked: string[] = []
    const { users } = service.composition.deps
    const { findByIdentity } = users
    users.findByIdentity = (key) => {
      asked.push(key)
      return findByIdentity(key)
    }
    await driver.command('/countersign', 'help', { user: 'U0BEN' })
    expect(asked).toEqual([`slack:${slack.teamId}:U0BEN`])
    const other = createSlackDriver({ url: service.url, signingSecret: SIGNING_SECRET, teamId: 'T0OTHER' })
    await other.command('/countersign', 'help', { user: 'U0BEN' })
    expect(asked).toHaveLength(1)
  })
})

describe('chat.md §4: nothing is swallowed silently', () => {
  it('tells people of an unknown workspace in words, and logs it', async () => {
    const { service, logged } = await useSlackService(slack)
    const other = createSlackDriver({ url: service.url, signingSecret: SIGNING_SECRET, teamId: 'T0OTHER' })
    const answer = await other.command('/countersign', 'pending')
    expect(ephemeral(answer)).toContain(
      `This workspace is not connected to Countersign at ${service.url}. Ask its operator`,
    )
    expect(logged('a message from Slack was refused')).toMatchObject([
      { tenant: 'T0OTHER', name: '/countersign', said: 'This workspace is not connected' },
    ])
  })

  it('does not call a workspace unknown while Slack has not said which is ours', async () => {
    slack.behave(({ method }) => (method === 'auth.test' ? { status: 503 } : undefined))
    const { driver } = await useSlackService(slack)
    const said = ephemeral(await driver.command('/countersign', 'help'))
    expect(said).toContain('Countersign cannot reach Slack')
    expect(said).not.toContain('not connected')
  })

  it('knows an organisation by its own id when the app is installed for all of it', async () => {
    slack.behave(({ method }) =>
      method === 'auth.test'
        ? {
            answer: {
              ok: true,
              team_id: 'E0ORG',
              enterprise_id: 'E0ORG',
              is_enterprise_install: true,
              user_id: 'U0BOT',
            },
          }
        : undefined,
    )
    const { driver } = await useSlackService(slack)
    const wide = { enterprise_id: 'E0ORG', is_enterprise_install: 'true' }
    expect(ephemeral(await driver.command('/countersign', 'help', { fields: wide }))).toContain(
      'Countersign in Slack',
    )
    const narrow = { enterprise_id: 'E0ORG', is_enterprise_install: 'false' }
    expect(ephemeral(await driver.command('/countersign', 'help', { fields: narrow }))).toContain(
      'not connected',
    )
  })

  it('tells of a command that it does not know, and logs it', async () => {
    const { driver, logged } = await useSlackService(slack)
    const answer = await driver.command('/deploy', 'now')
    expect(ephemeral(answer)).toContain('Nothing was done. Type /countersign help')
    expect(answer.ms).toBeLessThan(2_500)
    expect(logged('a message from Slack was refused')).toMatchObject([{ kind: 'command', name: '/deploy' }])
  })
})

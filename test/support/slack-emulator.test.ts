import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createWebClient } from '../../adapters/slack/web-client.ts'
import { type SlackEmulator, startSlack, useSlack } from './slack-emulator.ts'

const BLOCKS = [{ type: 'section', text: { type: 'plain_text', text: 'Hello' } }]

let slack: SlackEmulator

beforeAll(async () => {
  slack = await startSlack({
    users: [
      { name: 'ana', email: 'ana@example.com' },
      { name: 'ben', email: 'ben@example.com' },
    ],
  })
})
afterAll(() => slack.close())
beforeEach(() => slack.behave(() => undefined))

const nothing = () => undefined
const QUIET = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function client(of = slack, token = of.botToken) {
  return createWebClient(of.apiUrl, token, QUIET)
}

function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'ok',
    (error: unknown) =>
      Object(error).data?.error ?? Object(error).statusCode ?? Object(error).retryAfter ?? Object(error).code,
  )
}

it('keeps messages, edits and replies as the emulator holds them', async () => {
  const ana = slack.user('ana')
  const { channel } = await client().conversations.open({ users: ana })
  const id = String(channel?.id)
  const { ts } = await client().chat.postMessage({ channel: id, text: 'one', blocks: BLOCKS })
  await client().chat.postMessage({ channel: id, text: 'under it', thread_ts: String(ts) })
  await client().chat.update({ channel: id, ts: String(ts), text: 'two', blocks: BLOCKS })
  expect(await slack.dmOf(ana)).toMatchObject([
    { ts, text: 'two', user: slack.botUserId, reply_count: 1, edited: {} },
  ])
  expect(await slack.threadOf(id, String(ts))).toMatchObject([{ text: 'under it', thread_ts: ts }])
  expect(await slack.dmOf(slack.user('ben'))).toEqual([])
  const posts = slack.calls.filter(({ method }) => method === 'chat.postMessage')
  expect(posts[0]).toMatchObject({
    nth: 1,
    args: { channel: id, blocks: BLOCKS },
    taken: true,
    outcome: 'ok',
  })
})

it('refuses what Slack refuses: tokens, blocks, edits by user id, channels without the app', async () => {
  const ana = slack.user('ana')
  const post = (args: object) =>
    refusal(client().apiCall('chat.postMessage', { channel: ana, text: 'x', ...args }))
  const outside = await slack.addChannel('outside', { withApp: false })
  const inside = await slack.addChannel('inside')
  const long = { type: 'plain_text', text: 'x'.repeat(2_900) }
  expect(await refusal(client(slack, 'xoxb-wrong').auth.test())).toBe('invalid_auth')
  expect(await post({ blocks: [{ type: 'sektion' }] })).toBe('invalid_blocks')
  expect(await post({ blocks: [1, 2, 3].map(() => ({ type: 'section', text: long })) })).toBe(
    'msg_blocks_too_long',
  )
  expect(await post({ channel: outside })).toBe('not_in_channel')
  expect(await post({ channel: inside })).toBe('ok')
  expect(await refusal(client().chat.update({ channel: ana, ts: '1.1', text: 'x' }))).toBe(
    'channel_not_found',
  )
  expect(await refusal(client().users.lookupByEmail({ email: 'nobody@example.com' }))).toBe('users_not_found')
})

it('does what it is told to: refusals, failures, cut connections, answers that never come', async () => {
  const channel = slack.user('ben')
  const post = () => refusal(client().chat.postMessage({ channel, text: 'x' }))
  const before = async () => (await slack.dmOf(channel)).length
  const count = await before()
  slack.behave(() => ({ error: 'is_archived' }))
  expect(await post()).toBe('is_archived')
  slack.behave(() => ({ status: 503 }))
  expect(await post()).toBe(503)
  slack.behave(() => 'drop')
  expect(await post()).toBe('slack_webapi_request_error')
  expect(await before()).toBe(count)
  slack.behave(() => 'take-and-drop')
  expect(await post()).toBe('slack_webapi_request_error')
  expect(await before()).toBe(count + 1)
  expect(slack.calls.slice(-4).map(({ outcome, taken }) => [outcome, taken])).toEqual([
    ['is_archived', false],
    ['HTTP 503', false],
    ['drop', false],
    ['take-and-drop', true],
  ])
})

it('refuses a burst when limits are on, and takes it again after the time it names', async () => {
  // It stands still during the burst: on a real clock a slow one is none.
  let now = 0
  const limited = await useSlack({ users: [{ name: 'ana', email: 'ana@example.com' }], limits: () => now })
  const post = () => refusal(client(limited).chat.postMessage({ channel: limited.user('ana'), text: 'x' }))
  const answers = await Promise.all([1, 2, 3, 4, 5].map(post))
  expect(answers.filter((answer) => answer === 'ok')).toHaveLength(3)
  expect(answers.filter((answer) => answer !== 'ok')).toEqual([1, 1])
  now += 1_000
  expect(await post()).toBe('ok')
})

it('tells the scopes of its token, and keeps them when they are named', async () => {
  const narrow = await useSlack({ scopes: ['chat:write'] })
  const { response_metadata } = await client(narrow).auth.test()
  expect(response_metadata?.scopes).toEqual(['chat:write'])
  expect(await refusal(client(narrow).users.lookupByEmail({ email: 'ana@example.com' }))).toBe(
    'missing_scope',
  )
})

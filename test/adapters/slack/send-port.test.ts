import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { SIX_VIEWS } from '../../support/card-samples.ts'
import { clockOf } from '../../support/clock.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { portTo } from './port-setting.ts'

let slack: SlackEmulator

beforeAll(async () => {
  slack = await startSlack({
    users: [
      { name: 'ana', email: 'ana@example.com' },
      { name: 'ben', email: 'ben@example.com' },
    ],
  })
})
beforeEach(() => slack.behave(() => undefined))
afterAll(() => slack.close())

const view = SIX_VIEWS[0]?.view ?? expect.unreachable()
const person = (name: string) => ({
  platform: 'slack' as const,
  tenant: slack.teamId,
  user: slack.user(name),
})

it('addresses a card to the member with that address, and to nobody when there is none', async () => {
  const { port } = portTo(slack)
  expect(await port.lookup(slack.teamId, 'ana@example.com')).toMatchObject({ ok: true, value: person('ana') })
  expect(await port.lookup(slack.teamId, 'nobody@example.com')).toMatchObject({ ok: true, value: undefined })
})

it.each([
  ['a bot', { is_bot: true }],
  ['somebody who left', { deleted: true }],
  ['a stranger of a shared channel', { is_stranger: true }],
  ['a member of another workspace', { team_id: 'T0ELSEWHERE' }],
  ['an account without a workspace', { team_id: undefined }],
])('T37: addresses no card to %s, although the address is right', async (_who, fields) => {
  const user = { id: 'U0123', team_id: slack.teamId, ...fields }
  slack.behave(({ method }) =>
    method === 'users.lookupByEmail' ? { answer: { ok: true, user } } : undefined,
  )
  const answer = await portTo(slack).port.lookup(slack.teamId, 'ana@example.com')
  expect(answer).toMatchObject({ ok: true, value: undefined })
})

it('finds members of an organisation that installed the app for all of it', async () => {
  const { port } = portTo(slack)
  const user = {
    id: 'U0123',
    team_id: 'T0OTHER',
    enterprise_user: { enterprise_id: 'E01', teams: [slack.teamId] },
  }
  slack.behave(({ method }) =>
    method === 'users.lookupByEmail' ? { answer: { ok: true, user } } : undefined,
  )
  const answer = await port.lookup(slack.teamId, 'ana@example.com')
  expect(answer).toMatchObject({ ok: true, value: { user: 'U0123', tenant: slack.teamId } })
})

it('opens the direct message once and posts there ever after', async () => {
  const { port } = portTo(slack)
  const before = slack.calls.length
  const first = await port.post(person('ana'), view)
  const second = await port.post(person('ana'), { ...view, version: view.version + 1 })
  const made = slack.calls.slice(before).map(({ method }) => method)
  expect(made.filter((method) => method === 'conversations.open')).toHaveLength(1)
  expect(made.filter((method) => method === 'chat.postMessage')).toHaveLength(2)
  const ref = { tenant: slack.teamId, conversation: expect.stringMatching(/^D/), message: expect.any(String) }
  expect([first, second]).toMatchObject([
    { ok: true, value: ref },
    { ok: true, value: ref },
  ])
})

it('opens it again where it is gone, in the same attempt and once', async () => {
  const { port } = portTo(slack)
  await port.post(person('ana'), view)
  const before = slack.calls.length
  const made = () => slack.calls.slice(before).map(({ method }) => method)
  let left = 1
  slack.behave(({ method }) =>
    method === 'chat.postMessage' && left-- > 0 ? { error: 'channel_not_found' } : undefined,
  )
  expect(await port.post(person('ana'), view)).toMatchObject({ ok: true })
  const again = ['chat.postMessage', 'conversations.open', 'chat.postMessage']
  expect(made()).toEqual(again)
  left = 2
  expect(await port.post(person('ana'), view)).toMatchObject({ ok: false, outcome: 'unreachable' })
  expect(made()).toEqual([...again, ...again])
})

it('opens it again after an hour: Slack takes messages for a person who has left meanwhile', async () => {
  let now = Date.now()
  const { port } = portTo(
    slack,
    undefined,
    clockOf(() => now),
  )
  await port.post(person('ana'), view)
  slack.behave(({ method }) => (method === 'conversations.open' ? { error: 'user_disabled' } : undefined))
  now += 3_599_000
  expect(await port.post(person('ana'), view)).toMatchObject({ ok: true })
  now += 1_000
  expect(await port.post(person('ana'), view)).toMatchObject({
    outcome: 'unreachable',
    code: 'user_disabled',
  })
})

it('greets a channel in words that no account’s name gets out of', async () => {
  const { port } = portTo(slack)
  const links = { details: 'https://approve.example/integrations' }
  const account = 'Ana <!channel> *& Co*'
  const greeting = { kind: 'greeting', request_id: 'cln_1', version: 1, account, links } as const
  expect(await port.post(person('ana'), greeting)).toMatchObject({ ok: true })
  const { args } = slack.calls.at(-1) ?? expect.unreachable()
  expect(args.text).toBe('This channel is connected to Countersign.')
  const drawn = JSON.stringify(args.blocks)
  expect(drawn).toContain(links.details)
  expect(drawn).toContain(account)
  expect(drawn).not.toContain('mrkdwn')
})

it('gives a repeated post the same id, and no other card, version or later post that one', async () => {
  const { port } = portTo(slack)
  const before = slack.calls.length
  const newer = { ...view, version: view.version + 1 }
  const card = { id: 'crd_1' }
  for (const [name, shown, mark] of [
    ['ana', view, card],
    ['ana', view, card],
    ['ana', newer, card],
    ['ben', view, card],
    ['ana', view, { ...card, after: new Date(1) }],
  ] as const) {
    expect(await port.post(person(name), shown, mark)).toMatchObject({ ok: true })
  }
  const ids = slack.calls
    .slice(before)
    .filter(({ method }) => method === 'chat.postMessage')
    .map(({ args }) => args.client_msg_id)
  expect(ids[1]).toBe(ids[0])
  expect(new Set(ids).size).toBe(4)
})

it('posts without an id that Slack minds, as it would mind it for ever', async () => {
  const { port } = portTo(slack)
  const before = slack.calls.length
  slack.behave(({ args }) =>
    args.client_msg_id === undefined ? undefined : { error: 'duplicate_message_not_found' },
  )
  expect(await port.post(person('ana'), view)).toMatchObject({ ok: true })
  const posts = slack.calls.slice(before).filter(({ method }) => method === 'chat.postMessage')
  expect(posts.map(({ outcome }) => outcome)).toEqual(['duplicate_message_not_found', 'ok'])
})

it('takes back a reply that Slack put beside the message, which was deleted', async () => {
  const { port } = portTo(slack)
  const sent = await port.post(person('ana'), view)
  const message = sent.ok ? sent.value : expect.unreachable()
  const { request_id, audience, action, requested_by, links } = view
  const shown = { request_id, audience, action, requested_by, details: links.details }
  const reply = { ...shown, kind: 'reminder', expires_at: new Date(), automatic: true } as const
  expect(await port.reply(message, reply)).toMatchObject({ ok: true })
  const before = slack.calls.length
  const beside = { ok: true, channel: message.conversation, ts: '1700000000.000100', message: { text: 'x' } }
  slack.behave(({ method }) => (method === 'chat.postMessage' ? { answer: beside } : undefined))
  expect(await port.reply(message, reply)).toMatchObject({ ok: false, outcome: 'unreachable', gone: true })
  expect(slack.calls.slice(before)).toMatchObject([
    { method: 'chat.postMessage', args: { thread_ts: message.message } },
    { method: 'chat.delete', args: { channel: message.conversation, ts: '1700000000.000100' } },
  ])
})

it.each([
  [3, { ok: false, outcome: 'rate_limited', retry_after: 3 }],
  [60, { ok: true, value: 'unknown' }],
])('waits to look for a lost post where Slack says %i s, or posts it again', async (seconds, answer) => {
  const { port } = portTo(slack)
  slack.behave(({ method }) =>
    method === 'conversations.history'
      ? {
          status: 429,
          headers: { 'retry-after': String(seconds) },
          body: '{"ok":false,"error":"ratelimited"}',
        }
      : undefined,
  )
  expect(await port.find?.(person('ana'), 'crd_1', new Date())).toMatchObject(answer)
})

it('ends within 15 s although every call takes as long as it may', async () => {
  const { port } = portTo(slack)
  expect(await port.tenantsOf('acc_1')).toEqual([slack.teamId])
  // Opening answers late, but long before it would be given up; the post never does.
  slack.behave(({ method }) =>
    method === 'conversations.open'
      ? { late: new Promise((resolve) => setTimeout(resolve, 2_000)) }
      : 'stall',
  )
  const stop = startStopwatch()
  const answer = await port.post(person('ben'), view)
  const took = stop()
  expect(answer).toMatchObject({ ok: false, outcome: 'timeout', code: 'timeout' })
  // Three seconds more than this, if opening took all of its time.
  expect(took).toBeLessThan(12_000)
  expect(answer.duration_ms).toBeGreaterThan(6_900)
})

it('answers at once while a method rests, and asks Slack nothing', async () => {
  const { port } = portTo(slack)
  await port.post(person('ana'), view)
  slack.behave(() => ({ status: 429, headers: { 'retry-after': '40' } }))
  const first = await port.post(person('ana'), view)
  expect(first).toMatchObject({ ok: false, outcome: 'rate_limited', retry_after: 40, code: 'ratelimited' })
  const before = slack.calls.length
  const second = await port.post(person('ana'), view)
  expect(second).toMatchObject({ ok: false, outcome: 'rate_limited', code: 'paced' })
  expect(Object(second).retry_after).toBeGreaterThan(35)
  expect(second.duration_ms).toBeLessThan(5_000)
  expect(slack.calls.length).toBe(before)
})

it('says what failed even when an answer makes no sense', async () => {
  const { port } = portTo(slack)
  await port.tenantsOf('acc_1')
  slack.behave(() => ({ answer: { ok: true, surprise: 1 } }))
  const unreadable = { ok: false, outcome: 'failed', code: 'unreadable' }
  expect(await port.lookup(slack.teamId, 'ana@example.com')).toMatchObject(unreadable)
  expect(await port.post(person('ana'), view)).toMatchObject(unreadable)
})

it('sends nothing with its token to a workspace it is not for', async () => {
  const { port } = portTo(slack)
  await port.tenantsOf('acc_1')
  const before = slack.calls.length
  const elsewhere = { ...person('ana'), tenant: 'T0ELSEWHERE' }
  expect(await port.post(elsewhere, view)).toMatchObject({
    ok: false,
    outcome: 'unavailable',
    code: 'not_installed',
  })
  expect(slack.calls.length).toBe(before)
})

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { waitUntil } from '../../support/chat-platform.ts'
import { ask, callWithKey, decideByPasskey } from '../../support/live.ts'
import type { SlackBehaviour, SlackCall } from '../../support/slack-proxy.ts'
import { about, atRest, cardTo, type SendSetting, startSending, tellChannel } from './send-setting.ts'

const SECRET_WORDS = 'Wire 900 to ACME-7731'

let setting: SendSetting

beforeAll(async () => {
  setting = await startSending({ others: ['ana'], strangers: ['stan'] })
})
afterEach(() => setting.slack.behave(() => undefined))
afterAll(() => setting.close())

/** Lets Slack behave so for posts to that person about that request; `nth` counts these. */
function onPostTo(name: string, id: () => string, how: (nth: number) => SlackBehaviour): SlackCall[] {
  const seen: SlackCall[] = []
  let conversation: unknown
  setting.slack.behave(async (call) => {
    if (call.method !== 'chat.postMessage' || call.args.thread_ts !== undefined) return undefined
    conversation ??= await dmIdOf(name)
    if (call.args.channel !== conversation || !JSON.stringify(call.args).includes(id())) return undefined
    seen.push(call)
    return how(seen.length)
  })
  return seen
}

async function dmIdOf(name: string): Promise<string> {
  const { channel } = await setting.slack.call('conversations.open', { users: setting.slack.user(name) })
  return String(Object(channel).id)
}

/** Asks while Slack behaves so towards ana. */
async function askedWith(how: (nth: number) => SlackBehaviour): Promise<{ id: string; posts: SlackCall[] }> {
  let id = 'req_'
  const posts = onPostTo('ana', () => id, how)
  id = await ask(setting, { action: SECRET_WORDS })
  return { id, posts }
}

interface LoggedCard {
  recipient: string
  approver?: string
  state: string
  attempts: { what: string; outcome: string }[]
}

async function cardLog(id: string): Promise<LoggedCard[]> {
  const answer = await callWithKey(setting.service, setting.key, `/${id}/deliveries`)
  expect(answer.status).toBe(200)
  return Object(await answer.json()).cards
}

/** Outcomes of the attempts at the card of that person, as the API tells them. */
async function attemptsAt(name: string, id: string): Promise<string[]> {
  const approver = await referenceOf(name)
  const card = (await cardLog(id)).find((one) => one.approver === approver)
  return (card?.attempts ?? []).map(({ what, outcome }) => `${what} ${outcome}`)
}

async function referenceOf(name: string): Promise<string> {
  const user = await setting.service.composition.deps.users.find(setting.people.get(name) ?? '')
  return user?.approver ?? expect.unreachable()
}

async function notReachable(id: string): Promise<string[]> {
  const { status, body } = await setting.owner.browser.get(`/api/v1/approvals/${id}/review`)
  expect(status).toBe(200)
  return body.not_reachable
}

it('lets an approver who is not in Slack block nobody, and says so to who waits (sso-elevator#138)', async () => {
  const id = await ask(setting)
  await atRest(setting, id, 3)
  await cardTo(setting, 'owner', id)
  await cardTo(setting, 'ana', id)
  expect(await notReachable(id)).toEqual([await referenceOf('stan')])
  expect(await attemptsAt('stan', id)).toEqual(['post unreachable'])
  expect(await attemptsAt('ana', id)).toEqual(['post accepted'])
})

it('does not storm Slack after a 429: nobody posts there before Retry-After is over, then everybody gets one card', async () => {
  const { id, posts } = await askedWith((nth) =>
    nth === 1
      ? { status: 429, headers: { 'retry-after': '2' }, body: '{"ok":false,"error":"ratelimited"}' }
      : undefined,
  )
  await atRest(setting, id, 3)
  expect(posts.map(({ outcome }) => outcome)).toEqual(['ratelimited', 'ok'])
  expect((posts[1]?.at ?? 0) - (posts[0]?.at ?? 0)).toBeGreaterThanOrEqual(2_000)
  expect(await attemptsAt('ana', id)).toEqual(['post rate_limited', 'post accepted'])
  await cardTo(setting, 'ana', id)
  await cardTo(setting, 'owner', id)
})

it('finds a card again whose answer was lost, where it may read: posted once, and edited to the decision', async () => {
  setting.slack.letRead(true)
  const { id, posts } = await askedWith((nth) => (nth === 1 ? 'take-and-drop' : undefined))
  await atRest(setting, id, 3)
  setting.slack.letRead(false)
  expect(posts).toHaveLength(1)
  await decideByPasskey(setting, id, 'approved')
  await atRest(setting, id, 3)
  expect((await cardTo(setting, 'ana', id)).text).toMatch(/^Approved\./)
})

it('says the outcome where a card perhaps stands whose request was over before it could be posted again', async () => {
  let open = true
  const { id, posts } = await askedWith((nth) => {
    if (nth === 1) return 'take-and-drop'
    return open ? { status: 429, headers: { 'retry-after': '1' } } : undefined
  })
  await waitUntil(() => expect(posts.length).toBeGreaterThan(1))
  await decideByPasskey(setting, id, 'approved')
  open = false
  await atRest(setting, id, 3)
  const [lost, told, ...more] = about(await setting.slack.history(await dmIdOf('ana')), id)
  expect(more).toEqual([])
  expect(JSON.stringify(lost?.blocks)).toContain('countersign_approve')
  expect(told?.text).toMatch(/^Approved\./)
})

it('posts twice when the connection is cut after Slack took the card, the documented duplicate, and no more', async () => {
  const { id, posts } = await askedWith((nth) => (nth === 1 ? 'take-and-drop' : undefined))
  await atRest(setting, id, 3)
  expect(posts.map(({ outcome, taken }) => [outcome, taken])).toEqual([
    ['take-and-drop', true],
    ['ok', true],
  ])
  // A key that tells Slack the two are one; the emulator does not look at it.
  expect(new Set(posts.map(({ args }) => args.client_msg_id)).size).toBe(1)
  const dm = await dmIdOf('ana')
  expect(about(await setting.slack.history(dm), id)).toHaveLength(2)
  expect(await attemptsAt('ana', id)).toEqual(['post failed', 'post accepted'])
  await decideByPasskey(setting, id, 'approved')
  await atRest(setting, id, 3)
  // The one we know of shows the decision; the other leads to the page, which does.
  const texts = about(await setting.slack.history(dm), id).map(({ text }) => text.split(/[.?] /)[0])
  expect(texts.sort()).toEqual(['Approve or reject', 'Approved'])
})

it.each([
  ['cuts the connection before it takes the card', 'drop'],
  ['answers 503', { status: 503 }],
  ['answers with a page that is no JSON', { status: 200, body: '<html>busy</html>' }],
  ['has an internal error', { error: 'internal_error' }],
  ['answers with a code nobody has heard of', { error: 'brand_new_error' }],
] as const)('loses no card and posts no second one when Slack %s', async (_words, behaviour) => {
  const { id, posts } = await askedWith((nth) => (nth === 1 ? behaviour : undefined))
  await atRest(setting, id, 3)
  expect(posts).toHaveLength(2)
  await cardTo(setting, 'ana', id)
  await cardTo(setting, 'owner', id)
  expect(await attemptsAt('ana', id)).toEqual(['post failed', 'post accepted'])
})

it('hangs on no call: Slack that never answers is a time-out after 5 s, and the card comes with the next try', async () => {
  const { id, posts } = await askedWith((nth) => (nth === 1 ? 'stall' : undefined))
  await atRest(setting, id, 3)
  expect(await attemptsAt('ana', id)).toEqual(['post timeout', 'post accepted'])
  expect((posts[1]?.at ?? 0) - (posts[0]?.at ?? 0)).toBeGreaterThanOrEqual(5_000)
  await cardTo(setting, 'ana', id)
})

it('lets no late post overwrite the decision (sutando#2296)', async () => {
  let answer: (value: unknown) => void = () => undefined
  const late = new Promise((resolve) => {
    answer = resolve
  })
  const { id, posts } = await askedWith((nth) => (nth === 1 ? { late } : undefined))
  await waitUntil(() => expect(posts).toHaveLength(1))
  const { status } = await decideByPasskey(setting, id, 'rejected', 'No.')
  expect(status).toBe(200)
  answer(undefined)
  await atRest(setting, id, 3)
  const card = await cardTo(setting, 'ana', id)
  expect(card.text).toMatch(/^Rejected\./)
  expect(posts).toHaveLength(1)
})

it('shows a card in plain words when Slack refuses the blocks, and draws it again with the next change', async () => {
  const before = setting.service.logged.length
  const { id, posts } = await askedWith((nth) => (nth === 1 ? { error: 'invalid_blocks' } : undefined))
  await atRest(setting, id, 3)
  expect(posts.map(({ outcome }) => outcome)).toEqual(['invalid_blocks', 'ok'])
  const plain = await cardTo(setting, 'ana', id)
  expect(plain.blocks ?? []).toEqual([])
  expect(plain.text).toContain(`/a/${id}|Open the approval page>`)
  expect(plain.text).not.toContain('Wire')
  expect(setting.service.logged.slice(before)).toContainEqual({
    level: 'error',
    message: 'Slack refused a card; plain text was sent',
    fields: {
      platform: 'slack',
      tenant: setting.slack.teamId,
      method: 'chat.postMessage',
      reason: 'invalid_blocks',
    },
  })
  await decideByPasskey(setting, id, 'approved')
  await atRest(setting, id, 3)
  expect(JSON.stringify((await cardTo(setting, 'ana', id)).blocks)).toContain('Wire 900')
})

it('leaves no stale buttons when Slack refuses the blocks of an edit', async () => {
  const id = await ask(setting)
  await atRest(setting, id, 3)
  setting.slack.behave(({ method, args }) =>
    method === 'chat.update' && Array.isArray(args.blocks) && args.blocks.length > 0
      ? { error: 'msg_blocks_too_long' }
      : undefined,
  )
  await decideByPasskey(setting, id, 'approved')
  await atRest(setting, id, 3)
  const card = await cardTo(setting, 'ana', id)
  expect(card.blocks).toEqual([])
  expect(card.text).toMatch(/^Approved\. <http:/)
})

it('posts the outcome where somebody deleted the card, and says there what it was about', async () => {
  const id = await ask(setting)
  await atRest(setting, id, 3)
  const { ts } = await cardTo(setting, 'ana', id)
  await setting.slack.call('chat.delete', { channel: await dmIdOf('ana'), ts })
  await decideByPasskey(setting, id, 'approved')
  await atRest(setting, id, 3)
  expect(await attemptsAt('ana', id)).toEqual(['post accepted', 'update unreachable', 'post accepted'])
  const anew = await cardTo(setting, 'ana', id)
  expect(anew.text).toMatch(/^Approved\. .* asks: “/)
  expect(JSON.stringify(anew.blocks)).toContain('replaces a card that did not arrive or was deleted')
  expect((await cardTo(setting, 'owner', id)).text).toMatch(/^Approved\./)
})

it('calls a channel without the app unreachable, and nobody else', async () => {
  const outside = await setting.slack.addChannel('without-app', { withApp: false })
  await tellChannel(setting, outside)
  const id = await ask(setting)
  await atRest(setting, id, 4)
  await tellChannel(setting, 'C0NOWHERE')
  const channel = (await cardLog(id)).find(({ recipient }) => recipient === 'channel')
  expect(channel).toMatchObject({
    state: 'unreachable',
    attempts: [{ what: 'post', outcome: 'unreachable' }],
  })
  await cardTo(setting, 'ana', id)
  expect(await notReachable(id)).toEqual([await referenceOf('stan')])
})

it('edits what a channel refused while it was archived with the next card it takes, and no message for ever', async () => {
  const channel = await setting.slack.addChannel('archived')
  await tellChannel(setting, channel)
  const decideRefused = async () => {
    const id = await ask(setting)
    await atRest(setting, id, 4)
    setting.slack.behave(({ method, args }) => {
      const refused = method === 'chat.update' || args.thread_ts !== undefined
      return refused && args.channel === channel ? { error: 'is_inactive' } : undefined
    })
    await decideByPasskey(setting, id, 'approved')
    await atRest(setting, id, 4)
    return id
  }
  const cardOf = async (id: string) =>
    (await cardLog(id)).find(({ recipient }) => recipient === 'channel') ?? expect.unreachable()
  const edits = async (id: string) => (await cardOf(id)).attempts.filter(({ what }) => what === 'update')
  const never = await decideRefused()
  for (const count of [2, 3, 4, 4]) {
    await atRest(setting, await ask(setting), 4)
    await waitUntil(async () => expect(await edits(never)).toHaveLength(count))
    await atRest(setting, never, 4)
  }
  const later = await decideRefused()
  expect((await cardOf(later)).state).toBe('unreachable')
  setting.slack.behave(() => undefined)
  await ask(setting)
  await waitUntil(async () => expect((await cardOf(later)).state).toBe('shown'))
  expect(await edits(never)).toHaveLength(4)
  await tellChannel(setting, 'C0NOWHERE')
})

// Which other codes say the same is in outcome.test.ts.
it('tells the owner that the workspace refuses the app, and brings everything by itself when it takes it again', async () => {
  const error = 'token_revoked'
  const { service, owner, key } = setting
  const over = await ask(setting)
  await atRest(setting, over, 4)
  const before = service.logged.length
  setting.slack.behave(() => ({ error }))
  await callWithKey(service, key, `/${over}/cancel`, {})
  const waiting = await ask(setting, { action: SECRET_WORDS, context: { note: SECRET_WORDS } })
  await waitUntil(async () => expect(await attemptsAt('ana', waiting)).toContain('post unavailable'))
  await waitUntil(async () => expect(await attemptsAt('ana', over)).toContain('update unavailable'))
  const everyone = (await Promise.all(['owner', 'ana', 'stan'].map(referenceOf))).toSorted()
  await waitUntil(async () => expect((await notReachable(waiting)).toSorted()).toEqual(everyone))
  const apps = async () => (await owner.browser.get('/api/v1/account/chat-apps')).body.slack
  expect((await apps()).unavailable).toMatchObject([
    {
      tenant: setting.slack.teamId,
      reason: error,
      advice: expect.stringMatching(/SLACK_BOT_TOKEN|doctor slack/),
    },
  ])
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  setting.slack.behave(() => undefined)
  for (const id of [over, waiting]) await atRest(setting, id, 4)
  expect(JSON.stringify((await cardTo(setting, 'ana', over)).blocks)).not.toContain('countersign_approve')
  await cardTo(setting, 'ana', waiting)
  await waitUntil(async () => expect(await apps()).not.toHaveProperty('unavailable'))
  expect(service.logged.slice(before)).toContainEqual({
    level: 'warn',
    message: 'Slack refused a call',
    fields: expect.objectContaining({ reason: error, outcome: 'unavailable' }),
  })
})

it('has logged neither the token nor anything the caller wrote in all of this', () => {
  const said = JSON.stringify(setting.service.logged, (_key, value: unknown) =>
    value instanceof Error ? `${value.stack} ${JSON.stringify(value)}` : value,
  )
  expect(said).toContain('Slack refused a call')
  expect(said).not.toContain(setting.slack.botToken)
  expect(said).not.toMatch(/Wire 900|ACME-7731|@example\.com/)
})

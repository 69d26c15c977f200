import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { alter } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { ask, callWithKey, decideByPasskey } from '../../support/live.ts'
import { about, atRest, cardTo, type SendSetting, startSending, tellChannel } from './send-setting.ts'

const PEOPLE = ['owner', 'ana', 'ben']

let setting: SendSetting
let channel: string

beforeAll(async () => {
  setting = await startSending({ others: ['ana', 'ben'] })
  channel = await setting.slack.addChannel('approvals')
  await tellChannel(setting, channel)
})
beforeEach(() => setting.slack.behave(() => undefined))
afterAll(() => setting.close())

/** Asks and waits until everybody and the channel have been told. */
async function asked(body: object = {}): Promise<string> {
  const id = await ask(setting, body)
  await atRest(setting, id, PEOPLE.length + 1)
  return id
}

const callsOf = (method: string, id: string) =>
  setting.slack.calls.filter((call) => call.method === method && JSON.stringify(call.args).includes(id))

it('asks nobody twice: one direct message to each approver, with buttons to the page and an invitation to link', async () => {
  const id = await asked({ context: { amount: '12.50' } })
  for (const name of PEOPLE) {
    const card = await cardTo(setting, name, id)
    const shown = JSON.stringify(card.blocks)
    for (const link of [`/a/${id}?d=approve`, `/a/${id}?d=reject`, `/a/${id}"`]) expect(shown).toContain(link)
    expect(shown).toContain('/countersign link')
    expect(shown).toContain('12.50')
  }
})

it('lets no preview fetch the approval page and nothing in the text become markup', async () => {
  const id = await asked({ action: 'Tell <!channel> and see https://example.com' })
  for (const { args } of callsOf('chat.postMessage', id)) {
    expect(args).toMatchObject({
      unfurl_links: 'false',
      unfurl_media: 'false',
      mrkdwn: 'false',
      parse: 'none',
      link_names: 'false',
      client_msg_id: expect.stringMatching(
        /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
      ),
    })
    expect(args.text).toMatch(/asks: “Tell &lt;!channel&gt; and see https: \/\/example\.com”$/)
  }
  expect(callsOf('chat.postMessage', id)).toHaveLength(PEOPLE.length + 1)
})

it('leaves no stale button: every card is edited by its D… id when one person decides, and says the receipt under it', async () => {
  const id = await asked()
  const { body } = await decideByPasskey(setting, id, 'approved', 'Looks right.')
  const receipt = String(body.decision.id)
  await atRest(setting, id, PEOPLE.length + 1)
  for (const name of PEOPLE) {
    const card = await cardTo(setting, name, id)
    expect(JSON.stringify(card.blocks)).toContain('Looks right.')
    expect(JSON.stringify(card.blocks)).not.toContain('?d=approve')
    expect(card.text).toMatch(/^Approved\./)
    const edits = callsOf('chat.update', id).filter(({ args }) => args.ts === card.ts)
    expect(edits.map(({ args, outcome }) => [String(args.channel).slice(0, 1), outcome])).toEqual([
      ['D', 'ok'],
    ])
    const thread = await setting.slack.threadOf(String(edits[0]?.args.channel), card.ts)
    expect(thread).toHaveLength(1)
    expect(JSON.stringify(thread[0])).toContain(receipt)
  }
})

it('tells the channel action, requester and status, and never the context', async () => {
  const id = await asked({ action: 'Pay invoice 77', context: { iban: 'DE89370400440532013000' } })
  const [before] = about(await setting.slack.history(channel), id)
  expect(JSON.stringify(before)).toContain('Pay invoice 77')
  await decideByPasskey(setting, id, 'rejected', 'Not ours.')
  await atRest(setting, id, PEOPLE.length + 1)
  const [after, ...more] = about(await setting.slack.history(channel), id)
  expect(more).toEqual([])
  expect(after?.ts).toBe(before?.ts)
  expect(after?.text).toMatch(/^Rejected\./)
  for (const shown of [before, after]) expect(JSON.stringify(shown)).not.toMatch(/DE8937|owner@example|\?d=/)
})

it('reminds under the card instead of posting another, and tells the caller that it did', async () => {
  const id = await asked()
  const answer = await callWithKey(setting.service, setting.key, `/${id}/remind`, {})
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    { ok: true, push_sent: true, push_accepted: true },
  ])
  await atRest(setting, id, PEOPLE.length + 1)
  for (const name of PEOPLE) {
    const card = await cardTo(setting, name, id)
    const [post] = callsOf('chat.postMessage', id).filter(({ args }) => args.thread_ts === card.ts)
    expect(post?.args).toMatchObject({ unfurl_links: 'false', unfurl_media: 'false' })
    const thread = await setting.slack.threadOf(String(post?.args.channel), card.ts)
    expect(thread.map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^Reminder: a request waits for your decision, the caller asks again\. .* asks: “Deploy release 4\.2”$/,
      ),
    ])
  }
})

it('tells the caller the truth when the reminder reached nobody', async () => {
  const id = await asked()
  setting.slack.behave(({ method }) => (method === 'chat.postMessage' ? { status: 503 } : undefined))
  const answer = await callWithKey(setting.service, setting.key, `/${id}/remind`, {})
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    { ok: true, push_sent: true, push_accepted: false },
  ])
})

it.each([
  [
    'expired',
    async (id: string) =>
      alter(setting.service, 'requests', id, { expires_at: new Date(Date.now() - 1_000) }),
  ],
  [
    'withdrawn',
    async (id: string) => {
      const { status } = await callWithKey(setting.service, setting.key, `/${id}/cancel`, {})
      expect(status).toBe(200)
    },
  ],
])('leaves no button on a request that has %s', async (word, end) => {
  const id = await asked()
  await end(id)
  if (word === 'expired') await callWithKey(setting.service, setting.key, `/${id}`)
  await waitUntil(async () => {
    for (const name of PEOPLE) {
      const card = await cardTo(setting, name, id)
      expect(card.text.toLowerCase()).toMatch(new RegExp(`^${word}`))
      expect(JSON.stringify(card.blocks)).not.toContain('?d=approve')
    }
  })
})

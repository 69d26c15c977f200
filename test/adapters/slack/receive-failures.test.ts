import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { shownText } from '../../support/block-parts.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { useSlackService } from '../../support/slack-service.ts'

let slack: SlackEmulator
beforeAll(async () => {
  slack = await startSlack()
})
afterAll(() => slack.close())
afterEach(() => slack.behave(() => undefined))

const accepted = { answer: { ok: true, message_ts: '1.1', ts: '1.1', channel: 'C0' } }

/** Takes ephemeral and other messages without looking at the conversation; names those sent since. */
function watchPosts() {
  const from = slack.calls.length
  slack.behave(({ method }) => (method.startsWith('chat.post') ? accepted : undefined))
  return () => slack.calls.slice(from).filter(({ method }) => method.startsWith('chat.post'))
}

const who = () => ({
  team: { id: slack.teamId, domain: 'acme' },
  user: { id: 'U0ANA', username: 'ana', team_id: slack.teamId },
})
const place = { channel: { id: 'C0DEPLOYS', name: 'deploys' } }
const button = { type: 'button', action_id: 'somebody_elses', block_id: 'b', value: 'approve' }

describe('chat.md §4: nothing is swallowed silently', () => {
  it('acknowledges an unknown button with nothing, and tells the person beside it', async () => {
    const { driver, logged } = await useSlackService(slack)
    const posts = watchPosts()
    const answer = await driver.interact({ type: 'block_actions', ...who(), ...place, actions: [button] })
    expect([answer.status, answer.text]).toEqual([200, ''])
    await waitUntil(() => expect(posts()).toHaveLength(1))
    const [call] = posts()
    expect(call).toMatchObject({
      method: 'chat.postEphemeral',
      args: { channel: 'C0DEPLOYS', user: 'U0ANA' },
      token: slack.botToken,
    })
    const { blocks, text } = call?.args ?? {}
    expect(checkMessage({ blocks, text })).toEqual([])
    expect(shownText(blocks)).toContain('Countersign does not know this button')
    expect(logged('a message from Slack was refused')).toMatchObject([
      { kind: 'action', name: 'somebody_elses' },
    ])
  })

  it('answers buttons of the old kind, shortcuts and forms that it does not know', async () => {
    const { driver, logged } = await useSlackService(slack)
    const posts = watchPosts()
    const answers = [
      await driver.interact({
        type: 'interactive_message',
        callback_id: 'old',
        actions: [{ name: 'a', type: 'button', value: 'v' }],
        ...who(),
        ...place,
      }),
      await driver.interact({ type: 'message_action', callback_id: 'on_message', ...who(), ...place }),
      await driver.interact({ type: 'shortcut', callback_id: 'anywhere', ...who() }),
      await driver.interact({ type: 'view_closed', view: { callback_id: 'gone' }, ...who() }),
      await driver.interact({ type: 'something_new', ...who() }),
      await driver.post('{"hello":"world"}', { contentType: 'application/json' }),
    ]
    expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [200, '']))
    await waitUntil(() => expect(posts()).toHaveLength(3))
    expect(
      posts()
        .map(({ method, args }) => [method, args.channel])
        .sort(),
    ).toEqual([
      ['chat.postEphemeral', 'C0DEPLOYS'],
      ['chat.postEphemeral', 'C0DEPLOYS'],
      ['chat.postMessage', 'U0ANA'],
    ])
    expect(logged('a message from Slack was refused').map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'action old',
      'shortcut on_message',
      'shortcut anywhere',
      'other view_closed',
      'other something_new',
      'other ',
    ])
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(2_500)
  })

  it.each(['null', '5', '"press"', '[]', 'true'])(
    'acknowledges a signed payload that says nothing (%s), in a form or alone, and breaks nowhere',
    async (payload) => {
      const { driver, logged } = await useSlackService(slack)
      for (const answer of [
        await driver.post(new URLSearchParams({ payload }).toString()),
        await driver.post(payload, { contentType: 'application/json' }),
      ])
        expect([answer.status, answer.text]).toEqual([200, ''])
      expect(logged('a message from Slack was refused')).toMatchObject([{ kind: 'other' }, { kind: 'other' }])
      expect(logged('handling a message from Slack failed')).toEqual([])
    },
  )

  it('says in the form itself that it does not know it, and offers no options', async () => {
    const { driver } = await useSlackService(slack)
    const form = await driver.interact({ type: 'view_submission', view: { callback_id: 'f' }, ...who() })
    expect(form.body).toMatchObject({ response_action: 'update', view: { type: 'modal' } })
    expect(shownText(form.body.view.blocks)).toContain('does not know this form')
    const options = await driver.interact({
      type: 'block_suggestion',
      action_id: 'o',
      value: 'x',
      ...who(),
    })
    expect(options.body).toEqual({ options: [] })
  })

  it('stays silent, but acknowledges, where the person cannot be told', async () => {
    const { driver, logged } = await useSlackService(slack)
    const click = { type: 'block_actions', ...who(), ...place, actions: [button] }
    slack.behave(({ method }) =>
      method === 'chat.postEphemeral' ? { error: 'user_not_in_channel' } : undefined,
    )
    expect((await driver.interact(click)).status).toBe(200)
    await waitUntil(() => expect(logged('answering a person in Slack failed')).toHaveLength(1))
    // Not an answer of Slack's, so what became of it is logged whole.
    slack.behave(({ method }) =>
      method === 'chat.postEphemeral' ? { status: 200, body: 'null' } : undefined,
    )
    const other = { ...click, actions: [{ ...button, action_id: 'another' }] }
    expect((await driver.interact(other)).status).toBe(200)
    await waitUntil(() => expect(logged('answering a person in Slack failed')).toHaveLength(2))
    expect(logged('answering a person in Slack failed')).toMatchObject([
      { reason: 'user_not_in_channel' },
      { error: { name: 'TypeError', message: expect.stringContaining('null') } },
    ])
  })

  it('logs an unknown event and answers it once, whatever Slack thinks of the first answer', async () => {
    const { driver, logged } = await useSlackService(slack)
    const where = { fields: { event_id: 'Ev0TWICE' } }
    const first = await driver.event({ type: 'team_rename' }, where)
    const again = await driver.event(
      { type: 'team_rename' },
      { ...where, retry: { num: 1, reason: 'http_timeout' } },
    )
    expect([first, again].map(({ status, text }) => [status, text])).toEqual([
      [200, ''],
      [200, ''],
    ])
    expect(logged('an event from Slack was ignored: it has no listener')).toEqual([{ event: 'team_rename' }])
    expect(logged('Slack sent a message twice; the second is ignored')).toMatchObject([
      { kind: 'event', retry: 1 },
    ])
  })
})

describe('a verb that does not work', () => {
  it('is told to the person with an id, and in full to the log alone', async () => {
    const { driver, service, logged } = await useSlackService(slack)
    service.composition.deps.users.findByIdentity = async () => {
      throw new Error('the index of secret things is broken')
    }
    const answer = await driver.command('/countersign', 'help')
    const id = answer.headers.get('x-request-id')
    expect(answer.status).toBe(200)
    expect(shownText(answer.body.blocks)).toContain(`quote ${id}.`)
    expect(answer.text).not.toMatch(/secret things|Error|at /)
    expect(logged('handling a message from Slack failed')).toMatchObject([
      { request_id: id, name: '/countersign', error: { message: 'the index of secret things is broken' } },
    ])
  })

  it('is not waited for: after 2.5 seconds the person is told, and its answer is dropped', async () => {
    const { driver, service, logged } = await useSlackService(slack)
    let goOn = (): void => undefined
    service.composition.deps.users.findByIdentity = () =>
      new Promise((resolve) => {
        goOn = () => resolve(undefined)
      })
    const started = performance.now()
    const answer = await driver.command('/countersign', 'help', { hasty: true })
    expect(performance.now() - started).toBeGreaterThan(2_400)
    expect(answer.ms).toBeLessThan(5_000)
    expect(shownText(answer.body.blocks)).toContain('This takes longer than usual')
    expect(logged('an answer to Slack takes too long')).toHaveLength(1)
    goOn()
    await waitUntil(() => expect(logged('an answer to Slack came too late')).toHaveLength(1))
  })

  it('says one thing about a press, although it takes too long and then fails', async () => {
    const { driver, service, logged } = await useSlackService(slack)
    const { seen } = service.composition.deps
    const { first } = seen
    let fail = (): void => undefined
    seen.first = () =>
      new Promise((_, reject) => {
        fail = () => reject(new Error('the store stood still'))
      })
    const told = () => slack.calls.filter(({ method }) => method === 'chat.postEphemeral')
    const before = told().length
    const pressing = driver.interact(
      { type: 'block_actions', ...who(), ...place, actions: [button] },
      { hasty: true },
    )
    await waitUntil(() => expect(told()).toHaveLength(before + 1))
    fail()
    expect((await pressing).status).toBe(200)
    await waitUntil(() => expect(logged('an answer to Slack was already sent')).toHaveLength(1))
    expect(told()).toHaveLength(before + 1)
    expect(JSON.stringify(told().at(-1))).toContain('This takes longer than usual')
    seen.first = first
  })

  it('lets Slack send an event again that could not even be looked at', async () => {
    const { driver, service } = await useSlackService(slack)
    const { seen } = service.composition.deps
    const { first } = seen
    seen.first = async () => {
      throw new Error('no store')
    }
    const refused = await driver.event({ type: 'app_home_opened' }, { hasty: true })
    expect([refused.status, refused.text]).toEqual([503, ''])
    const command = await driver.command('/countersign', 'help')
    expect(shownText(command.body.blocks)).toContain('Something went wrong on our side')
    seen.first = first
  })
})

describe('T38: addresses out of a request', () => {
  it('are never called: neither a true answer nor a refusal goes to response_url', async () => {
    const calls: string[] = []
    const trap = createServer((request, response) => {
      calls.push(String(request.url))
      response.end('ok')
    })
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void trap.close())
    const address: AddressInfo | string | null = trap.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
    const { driver } = await useSlackService(slack)
    const posts = watchPosts()
    const fields = { response_url: `${url}/answer` }
    const urls = { ...fields, response_urls: [{ response_url: `${url}/form` }] }
    await driver.command('/countersign', 'help', { fields })
    await driver.command('/deploy', '', { fields })
    await driver.interact({ type: 'block_actions', ...who(), ...place, actions: [button], ...urls })
    await driver.interact({ type: 'view_submission', view: { callback_id: 'f' }, ...who(), ...urls })
    await waitUntil(() => expect(posts()).toHaveLength(1))
    expect(calls).toEqual([])
  })
})

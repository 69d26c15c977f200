import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { shownText } from '../../support/block-parts.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { startService, type TestService } from '../../support/service.ts'
import { commandPayload, createSlackDriver, eventPayload, fresh } from '../../support/slack-driver.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import type { SlackBehaviour } from '../../support/slack-proxy.ts'
import { type SlackSocket, startSlackSocket } from '../../support/slack-socket.ts'
import { startStopwatch, untilInTime } from '../../support/stopwatch.ts'

const APP_TOKEN = 'xapp-1-A0COUNTER-0123456789-abcdef'

let slack: SlackEmulator
let socket: SlackSocket
beforeAll(async () => {
  slack = await startSlack()
})
afterAll(() => slack.close())
beforeEach(async () => {
  socket = await startSlackSocket()
  opensWith(() => ({ answer: { ok: true, url: socket.url } }))
})
afterEach(() => socket.close())

/** How Slack answers whoever asks for the address of a connection. */
function opensWith(how: () => SlackBehaviour): void {
  slack.behave(({ method }) => {
    if (method === 'apps.connections.open') return how()
    return method.startsWith('chat.post') ? { answer: { ok: true } } : undefined
  })
}

async function useSocketService(): Promise<TestService> {
  const service = await startService({
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: APP_TOKEN, SLACK_API_URL: slack.apiUrl },
  })
  onTestFinished(() => service.close())
  return service
}

const help = () => commandPayload(slack, '/countersign', 'help', {})
const command = (payload: Record<string, unknown>) => untilInTime(() => socket.say('slash_commands', payload))
const linesOf = (service: TestService, message: string) =>
  service.logged.filter((line) => line.message === message)

describe('Socket Mode', () => {
  it('connects with the app token at the address of the settings, and opens no address of ours', async () => {
    const calls = slack.calls.length
    const service = await useSocketService()
    await socket.greeted()
    const opened = slack.calls.slice(calls).filter(({ method }) => method === 'apps.connections.open')
    expect(opened).toMatchObject([{ token: APP_TOKEN }])
    const driver = createSlackDriver({ url: service.url, signingSecret: 'any', teamId: slack.teamId })
    const answer = await driver.command('/countersign', 'help')
    expect([answer.status, answer.body]).toMatchObject([404, { error: 'not_found' }])
    await waitUntil(() => expect(linesOf(service, 'connected to Slack in Socket Mode')).toHaveLength(1))
    expect(JSON.stringify(service.logged)).not.toMatch(/xapp-|xoxb-|secret-ticket/)
  })

  it('answers a command in the acknowledgement, once', async () => {
    const service = await useSocketService()
    await socket.greeted()
    let envelope_id = ''
    const first = await untilInTime(() => {
      envelope_id = fresh('envelope-')
      return socket.say('slash_commands', help(), { envelope_id })
    })
    const { blocks, text } = first.payload
    expect(first.payload.response_type).toBe('ephemeral')
    expect(checkMessage({ blocks, text })).toEqual([])
    expect(shownText(blocks)).toContain('Countersign in Slack')
    let repeats = 0
    const again = await untilInTime(() => {
      repeats += 1
      return socket.say('slash_commands', help(), { envelope_id })
    })
    expect(again.payload).toEqual({})
    await waitUntil(() =>
      expect(linesOf(service, 'Slack sent a message twice; the second is ignored')).toHaveLength(repeats),
    )
  })

  it('acknowledges clicks and events, and runs an event once whatever envelope it comes in', async () => {
    const service = await useSocketService()
    await socket.greeted()
    const calls = slack.calls.length
    const click = {
      type: 'block_actions',
      team: { id: slack.teamId },
      user: { id: 'U0ANA' },
      channel: { id: 'C0DEPLOYS' },
      actions: [{ type: 'button', action_id: 'somebody_elses', block_id: 'b' }],
    }
    expect((await socket.say('interactive', click)).payload).toEqual({})
    await waitUntil(() =>
      expect(slack.calls.slice(calls).filter(({ method }) => method === 'chat.postEphemeral')).toHaveLength(
        1,
      ),
    )
    const event = eventPayload(slack, { type: 'team_rename' })
    expect((await socket.say('events_api', event)).payload).toEqual({})
    const retry = { retry_attempt: 1, retry_reason: 'timeout' }
    expect((await socket.say('events_api', event, retry)).payload).toEqual({})
    expect(linesOf(service, 'an event from Slack was ignored: it has no listener')).toHaveLength(1)
  })

  it.each([
    { type: 'app_rate_limited', team_id: 'T1', minute_rate_limited: 1518467820, api_app_id: 'A1' },
    { type: 'event_callback', event: undefined },
    null,
  ])('acknowledges an event without content, and logs it: %j', async (payload) => {
    const service = await useSocketService()
    await socket.greeted()
    expect((await socket.say('events_api', payload)).payload).toEqual({})
    const name = payload?.type ?? ''
    expect(linesOf(service, 'a message from Slack was refused')).toMatchObject([
      { level: 'warn', fields: { name } },
    ])
  })

  it.each(['{"type":"some_new_message"}', '{"type":"events_api"}', 'null', '{', '[]'])(
    'goes on after something unreadable, and logs it: %s',
    async (text) => {
      const service = await useSocketService()
      await socket.greeted()
      socket.utter(text)
      expect(shownText((await command(help())).payload.blocks)).toContain('Countersign in Slack')
      expect(linesOf(service, 'Slack sent an unreadable message in Socket Mode')).toHaveLength(1)
    },
  )

  it('tells what it does not know, and people of another workspace, in words', async () => {
    await useSocketService()
    await socket.greeted()
    const unknown = await command(commandPayload(slack, '/deploy', '', {}))
    expect(shownText(unknown.payload.blocks)).toContain('Countersign does not know this command')
    const foreign = await command({ ...help(), team_id: 'T0OTHER' })
    expect(shownText(foreign.payload.blocks)).toContain('is not connected to Countersign at http://localhost')
    expect(Math.max(unknown.ms, foreign.ms)).toBeLessThan(2_500)
  })

  it('connects again when Slack asks for it, and when the connection breaks', async () => {
    await useSocketService()
    await socket.greeted()
    for (const end of [socket.refresh, socket.drop]) {
      const before = socket.connections
      end()
      // Perhaps more than once: on a busy machine the client may miss an answer to its ping.
      await waitUntil(() => {
        expect(socket.connections).toBeGreaterThan(before)
        expect(socket.open).toBe(1)
      })
      const { payload } = await command(help())
      expect(shownText(payload.blocks)).toContain('Countersign in Slack')
    }
  })

  it.each<[string, SlackBehaviour]>([
    ['breaks', { status: 503 }],
    ['cuts the connection', 'drop'],
    ['refuses the token', { error: 'invalid_auth' }],
    ['gives an address where nobody is', { answer: { ok: true, url: 'ws://127.0.0.1:9/' } }],
  ])('starts while Slack %s, says so without secrets, and connects when it can', async (_what, how) => {
    let well = false
    opensWith(() => (well ? { answer: { ok: true, url: socket.url } } : how))
    const service = await useSocketService()
    await waitUntil(() =>
      expect(linesOf(service, 'connecting to Slack in Socket Mode failed').length).toBeGreaterThan(0),
    )
    well = true
    await socket.greeted()
    expect(JSON.stringify(service.logged)).not.toMatch(/xapp-|xoxb-|secret-ticket/)
  })

  it('stops at once: connected, while it tries, and while Slack does not answer', async () => {
    const stopping = async (service: TestService): Promise<number> => {
      const stop = startStopwatch()
      await service.close()
      return stop()
    }
    const start = () =>
      startService({
        env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: APP_TOKEN, SLACK_API_URL: slack.apiUrl },
      })
    const connected = await start()
    await socket.greeted()
    expect(await stopping(connected)).toBeLessThan(3_000)
    await waitUntil(() => expect(socket.open).toBe(0))

    opensWith(() => ({ status: 503 }))
    const trying = await start()
    await waitUntil(() =>
      expect(linesOf(trying, 'connecting to Slack in Socket Mode failed').length).toBeGreaterThan(1),
    )
    expect(await stopping(trying)).toBeLessThan(3_000)

    const calls = slack.calls.length
    opensWith(() => 'stall')
    const stalled = await start()
    await waitUntil(() => expect(slack.calls.length).toBeGreaterThan(calls))
    expect(await stopping(stalled)).toBeLessThan(3_000)
    expect(socket.connections).toBe(1)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPEN_LINK_ID } from '../../../adapters/slack/answers.ts'
import { ACTION_IDS } from '../../../adapters/slack/cards.ts'
import { shownText } from '../../support/block-parts.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { ask, decideByPasskey } from '../../support/live.ts'
import { createSlackDriver, type ReadMessage, type SlackDriver } from '../../support/slack-driver.ts'
import type { SlackMessage } from '../../support/slack-emulator.ts'
import { atRest, cardTo, type SendSetting, slackEnv, startSending } from './send-setting.ts'

let setting: SendSetting
let driver: SlackDriver
beforeAll(async () => {
  setting = await startSending()
  driver = createSlackDriver({
    url: setting.service.url,
    signingSecret: slackEnv(setting.slack).SLACK_SIGNING_SECRET ?? '',
    teamId: setting.slack.teamId,
  })
})
afterAll(() => setting.close())

const owner = () => setting.slack.user('owner')

/** The owner's card of the request, as Slack has it. */
async function cardOf(id: string): Promise<SlackMessage & ReadMessage> {
  const [card] = await atRest(setting, id, 1)
  const channel = card?.message?.conversation ?? expect.unreachable()
  return { ...(await cardTo(setting, 'owner', id)), channel }
}

const callsSince = (from: number) => setting.slack.calls.slice(from).map(({ method }) => method)

describe('T46: the buttons of a card', () => {
  it('are links: pressed twice, they are acknowledged, say nothing and change nothing', async () => {
    const id = await ask(setting)
    const card = await cardOf(id)
    const { deps } = setting.service.composition
    // What was posted is in the trail.
    await waitUntil(async () => expect(await deps.cards.ofRequest(id)).toMatchObject([{ audit: [] }]))
    const before = [await deps.requests.find(id), await deps.cards.ofRequest(id)]
    const from = setting.slack.calls.length
    for (const button of Object.values(ACTION_IDS)) {
      for (const answer of [
        await driver.click(card, button, owner()),
        await driver.click(card, button, owner()),
      ]) {
        expect([answer.status, answer.text]).toEqual([200, ''])
        expect(answer.ms).toBeLessThan(2_500)
      }
    }
    expect([await deps.requests.find(id), await deps.cards.ofRequest(id)]).toEqual(before)
    expect(callsSince(from)).toEqual([])
  })

  it('have a card edited again that a late edit has put back to an older state', async () => {
    const id = await ask(setting)
    const asked = await cardOf(id)
    expect((await decideByPasskey(setting, id, 'rejected')).status).toBe(200)
    await waitUntil(async () => expect(shownText((await cardOf(id)).blocks)).toContain('Rejected'))
    await setting.slack.call('chat.update', {
      channel: asked.channel,
      ts: asked.ts,
      text: asked.text,
      blocks: JSON.stringify(asked.blocks),
    })
    expect(shownText((await cardTo(setting, 'owner', id)).blocks)).not.toContain('Rejected')
    const answer = await driver.click(asked, ACTION_IDS.approve, owner())
    expect([answer.status, answer.text]).toEqual([200, ''])
    await waitUntil(async () =>
      expect(shownText((await cardTo(setting, 'owner', id)).blocks)).toContain('Rejected'),
    )
    const request = await setting.service.composition.deps.requests.find(id)
    expect(request?.status).toBe('rejected')
  })

  it('have a card edited again that was given up while it showed an older state', async () => {
    const id = await ask(setting)
    const asked = await cardOf(id)
    setting.slack.behave(({ method }) =>
      method === 'chat.update' ? { error: 'cant_update_message' } : undefined,
    )
    expect((await decideByPasskey(setting, id, 'rejected')).status).toBe(200)
    const { cards } = setting.service.composition.deps
    await waitUntil(async () =>
      expect(await cards.ofRequest(id)).toMatchObject([{ state: 'unreachable', shown: 1, wanted: 2 }]),
    )
    setting.slack.behave(() => undefined)
    expect((await driver.click(asked, ACTION_IDS.approve, owner())).status).toBe(200)
    await waitUntil(async () =>
      expect(shownText((await cardTo(setting, 'owner', id)).blocks)).toContain('Rejected'),
    )
  })

  it('look at no card but the one that was pressed, and at none for a forged link', async () => {
    const id = await ask(setting)
    const asked = await cardOf(id)
    expect((await decideByPasskey(setting, id, 'approved')).status).toBe(200)
    await waitUntil(async () => expect(shownText((await cardOf(id)).blocks)).toContain('Approved'))
    const from = setting.slack.calls.length
    const elsewhere = { ...asked, ts: '1700000000.000100' }
    const linked = (url: string) => ({
      ...asked,
      blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: ACTION_IDS.approve, url }] }],
    })
    for (const message of [linked('https://evil.example/a/req_$gt'), linked(''), elsewhere]) {
      expect((await driver.click(message, ACTION_IDS.approve, owner())).status).toBe(200)
    }
    // A message that is no card we know of may be one whose answer was lost: Slack says what stands there.
    await waitUntil(() => expect(callsSince(from)).toEqual(['chat.update']))
    const { deps } = setting.service.composition
    expect(await deps.cards.ofRequest(id)).toMatchObject([{ state: 'idle' }])
  })

  it('mend a card that was posted twice: over, it says so; else, that the other one counts', async () => {
    const id = await ask(setting)
    const asked = await cardOf(id)
    const copy = async () => {
      const posted = await setting.slack.call('chat.postMessage', {
        channel: asked.channel,
        text: asked.text,
        blocks: JSON.stringify(asked.blocks),
      })
      return { ...asked, ts: String(posted.ts) }
    }
    const shown = async ({ ts }: { ts: string }) =>
      shownText((await setting.slack.history(asked.channel)).find((message) => message.ts === ts)?.blocks)
    const [first, second] = [await copy(), await copy()]
    await driver.click(first, ACTION_IDS.approve, owner())
    await waitUntil(async () => expect(await shown(first)).toContain('Shown once more below'))
    expect((await decideByPasskey(setting, id, 'rejected')).status).toBe(200)
    await driver.click(second, ACTION_IDS.approve, owner())
    await waitUntil(async () => expect(await shown(second)).toContain('Rejected'))
  })

  it('of a one-time link are acknowledged too', async () => {
    const elements = [{ type: 'button', action_id: OPEN_LINK_ID, url: 'https://a.example/link#x' }]
    const message = { channel: 'D0ANA', ts: '1700000000.000100', blocks: [{ type: 'actions', elements }] }
    const answer = await driver.click(message, OPEN_LINK_ID, owner())
    expect([answer.status, answer.text]).toEqual([200, ''])
    const refused = setting.service.logged.filter(
      (line) => line.message === 'a message from Slack was refused',
    )
    expect(refused).toEqual([])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACTION_IDS } from '../../../adapters/slack/cards.ts'
import { shownText } from '../../support/block-parts.ts'
import { begin, consent, stored } from '../../support/bootstraps.ts'
import { type BothChats, inSlack, startBothChats, untilCardsRest } from '../../support/both-chats.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { expectStatus } from '../../support/enrolled.ts'
import type { ReadMessage } from '../../support/slack-driver.ts'
import type { SlackMessage } from '../../support/slack-emulator.ts'

let both: BothChats
beforeAll(async () => {
  both = await startBothChats()
})
afterAll(() => both.close())

/** An agent asks; the owner's card of it in Slack. */
async function asked() {
  const begun = await begin(both.service, both.owner.email)
  const { id } = await stored(both.service, begun.secret)
  await untilCardsRest(both, id, 2)
  return { begun, id, card: await cardOf(id) }
}

async function cardOf(id: string): Promise<SlackMessage & ReadMessage> {
  const [message, ...others] = await inSlack(both, 'owner', id)
  expect(others).toEqual([])
  const card = (await both.service.composition.deps.cards.ofRequest(id)).find(
    ({ platform }) => platform === 'slack',
  )
  const channel = card?.message?.conversation ?? expect.unreachable()
  return { ...(message ?? expect.unreachable()), channel }
}

const press = (card: ReadMessage, name = 'owner') =>
  both.slackDriver.click(card, ACTION_IDS.details, both.slack.user(name))

const shown = async (id: string) => shownText((await cardOf(id)).blocks)

/** Approved, with the card edited and everything at rest. */
async function approved() {
  const { begun, ...rest } = await asked()
  expectStatus(await consent(both.service, both.owner, begun), 200)
  await waitUntil(async () => expect(await shown(rest.id)).toContain('Approved'))
  await untilCardsRest(both, rest.id, 2)
  return rest
}

describe('T46: the button of the card of an agent that asks for a key', () => {
  it('is a link: pressed, it is acknowledged, says nothing and changes nothing', async () => {
    const { id, card } = await asked()
    const { bootstraps, cards } = both.service.composition.deps
    await waitUntil(async () => {
      expect((await cards.ofRequest(id)).flatMap(({ audit }) => audit)).toEqual([])
      expect(await bootstraps.find(id)).toMatchObject({ audit: [], outbox: [] })
    })
    const state = async () => [await bootstraps.find(id), await cards.ofRequest(id), both.slack.calls.length]
    const before = await state()
    const answer = await press(card)
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(await state()).toEqual(before)
  })

  it('has a card edited again that a late edit has put back to an older state', async () => {
    const { id, card } = await approved()
    const { channel, ts, text, blocks } = card
    await both.slack.call('chat.update', { channel, ts, text, blocks: JSON.stringify(blocks) })
    expect(await shown(id)).not.toContain('Approved')
    const answer = await press(card)
    expect([answer.status, answer.text]).toEqual([200, ''])
    await waitUntil(async () => expect(await shown(id)).toContain('Approved'))
  })

  it('has a card edited again that was given up while it showed an older state', async () => {
    const { begun, id, card } = await asked()
    both.slack.behave(({ method }) =>
      method === 'chat.update' ? { error: 'cant_update_message' } : undefined,
    )
    expectStatus(await consent(both.service, both.owner, begun, 'rejected'), 200)
    const { cards } = both.service.composition.deps
    await waitUntil(async () => {
      const found = (await cards.ofRequest(id)).find(({ platform }) => platform === 'slack')
      expect(found).toMatchObject({ state: 'unreachable', shown: 1, wanted: 2 })
    })
    both.slack.behave(() => undefined)
    expect(await shown(id)).not.toContain('Rejected')
    expect((await press(card)).status).toBe(200)
    await waitUntil(async () => expect(await shown(id)).toContain('Rejected'))
  })

  it('mends one that was posted twice, of an owner who is found by e-mail alone, too', async () => {
    const { begun, card } = await asked()
    const { channel, text, blocks } = card
    const copy = async () => {
      const posted = await both.slack.call('chat.postMessage', {
        channel,
        text,
        blocks: JSON.stringify(blocks),
      })
      return { ...card, ts: String(posted.ts) }
    }
    const now = async ({ ts }: { ts: string }) =>
      shownText((await both.slack.history(channel)).find((message) => message.ts === ts)?.blocks)
    const [first, second] = [await copy(), await copy()]
    await press(first)
    await waitUntil(async () => expect(await now(first)).toContain('Shown once more below'))
    expectStatus(await consent(both.service, both.owner, begun, 'rejected'), 200)
    await press(second)
    await waitUntil(async () => expect(await now(second)).toContain('Rejected'))
  })

  it('looks at no message but the owner’s own card, and at none for a forged link', async () => {
    const { id, card } = await approved()
    const from = both.slack.calls.length
    const others = await both.slack.call('conversations.open', { users: both.slack.user('other') })
    const linked = (url: string) => ({
      ...card,
      blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: ACTION_IDS.details, url }] }],
    })
    const inOthers = { ...card, channel: String(Object(others.channel).id) }
    expect(inOthers.channel).not.toBe(card.channel)
    expect((await press(inOthers, 'other')).status).toBe(200)
    expect((await press({ ...card, channel: both.slackChannel }, 'other')).status).toBe(200)
    const { url } = both.service
    for (const forged of [`${url}/a/${id}`, `${url}/b/bst_$gt`, `${url}/b/${id}/x`, `${url}/b/req_1`, ''])
      expect((await press(linked(forged))).status).toBe(200)
    const found = await both.service.composition.deps.cards.ofRequest(id)
    expect(found).toMatchObject([{ state: 'idle' }, { state: 'idle' }])
    expect(both.slack.calls.slice(from).map(({ method }) => method)).toEqual([])
  })
})

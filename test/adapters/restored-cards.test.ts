import { expect, it, onTestFinished } from 'vitest'
import { liftHold } from '../../src/flow/restore/restored-store.ts'
import { cardIn, inSlack, inTeams, startBothChats, untilCardsRest } from '../support/both-chats.ts'
import { stored } from '../support/caller.ts'
import { waitUntil } from '../support/chat-platform.ts'
import { deciderOf, proveFor, tryDecide } from '../support/deciders.ts'
import { ask, askTogether, decideByPasskey } from '../support/live.ts'
import { restoreStore } from '../support/restored.ts'

/** For each request: one in every conversation, and one in every channel, of both platforms. */
const CARDS = 6

it('cards that may have gone out after the copy are not sent again by the restore, nor by its confirmation', async () => {
  const both = await startBothChats()
  onTestFinished(() => both.close())
  const { service, slack, slackChannel, teams, owners, others } = both
  const { deps } = service.composition
  const [pending, over] = [await ask(both, { action: 'Pay' }), await ask(both, { action: 'Deploy' })]
  await untilCardsRest(both, pending, CARDS)
  await untilCardsRest(both, over, CARDS)
  await decideByPasskey(both, over, 'approved')
  await untilCardsRest(both, over, CARDS)
  const { ids, batch } = await askTogether(both, [{ action: 'Pay 1' }, { action: 'Pay 2' }])
  await untilCardsRest(both, batch, CARDS)
  for (const id of ids) await decideByPasskey(both, id, 'approved')
  await waitUntil(async () => {
    const replies = (await deps.cards.ofRequest(batch)).flatMap((card) => card.replies)
    expect(replies.map(({ state }) => state)).toEqual(Array(CARDS).fill('said'))
  })
  await untilCardsRest(both, batch, CARDS)
  const posted = () => [
    slack.calls.filter(({ method }) => method === 'chat.postMessage').length,
    teams.connector.calls.filter(({ what }) => what !== 'update').length,
  ]
  const edits = () => slack.calls.filter(({ method }) => method === 'chat.update').length
  const before = { posted: posted(), edits: edits() }

  // As in a copy from before: of the one request nothing is posted yet, of the other no message is edited and no outcome said.
  const next_at = new Date(deps.clock.now().getTime() + 3_600_000)
  const inCopy = (id: string, shown: number, more: object = {}) =>
    stored(service, 'cards').updateMany(
      { request_id: id },
      { $set: { state: 'due', shown, next_at, attempts: [] }, ...more },
    )
  await inCopy(pending, 0, { $unset: { message: 1, posted_at: 1 } })
  await inCopy(over, 1)
  await inCopy(batch, 2)
  await stored(service, 'cards').updateMany(
    { request_id: { $in: [over, batch] } },
    { $set: { 'replies.$[one].state': 'due' } },
    { arrayFilters: [{ 'one.state': 'said' }] },
  )

  const held = await restoreStore(deps)
  expect(held.set_aside).toEqual({ callbacks: 0, pushes: 0, cards: CARDS })
  // No news would ever come of what is over, so its messages are edited, and nothing is said twice.
  await waitUntil(async () => {
    const cards = [...(await deps.cards.ofRequest(over)), ...(await deps.cards.ofRequest(batch))]
    expect(cards.map(({ attempts }) => attempts.at(-1))).toMatchObject(
      Array(2 * CARDS).fill({ what: 'update', outcome: 'accepted' }),
    )
  })
  expect(edits()).toBe(before.edits + CARDS)
  await liftHold(deps, held, { kind: 'cli' })
  expect((await deps.cards.ofRequest(pending)).map(({ state }) => state)).toEqual(Array(CARDS).fill('idle'))
  expect(posted()).toEqual(before.posted)

  // The next news finds the message where the app may look, and posts once more where it may not.
  slack.letRead(true)
  const decider = await deciderOf(service, both.owner)
  await tryDecide(deps, decider, await proveFor(deps, decider, pending, 'rejected'))
  await untilCardsRest(both, pending, CARDS)
  for (const name of ['owner', 'other']) {
    const found = await inSlack(both, name, pending)
    expect(found.map(({ blocks }) => JSON.stringify(blocks).includes('Rejected'))).toEqual([true])
  }
  const told = (await slack.history(slackChannel)).filter((one) => JSON.stringify(one).includes(pending))
  expect(told).toHaveLength(1)
  for (const place of [owners.id, others.id, teams.channel]) {
    const found = inTeams(both, place, pending)
    expect(found.map((message) => JSON.stringify(cardIn(message)).includes('Rejected'))).toEqual([
      false,
      true,
    ])
  }
})

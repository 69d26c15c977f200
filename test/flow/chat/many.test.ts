import { expect, it } from 'vitest'
import { nowShown, waitUntil } from '../../support/chat-platform.ts'
import { patienceFor } from '../../support/patience.ts'
import { useCardSetting, vote } from './card-setting.ts'

const REQUESTS = 200
/** Each person gets one card at a time, and calls that were refused wait a second. */
const AT_REST_MS = patienceFor(45_000)

it('keeps 600 cards of 200 requests at once without a duplicate and without a lost edit, one at a time to each person', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  const { worker, chat, requester, people } = setting
  await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { monthly_quota: 0 } })
  // Some calls fail, some time out before they are taken, some are asked to wait: never twice in a row.
  chat.behave(({ what, nth }) => {
    if (what === 'lookup' || nth % 20 !== 7) return undefined
    return nth % 40 === 7 ? { outcome: 'timeout' } : { outcome: 'rate_limited', retry_after: 1 }
  })
  await worker.start()
  const started = performance.now()
  const ids = await Promise.all(Array.from({ length: REQUESTS }, () => requester.request()))
  await waitUntil(async () => {
    const made = await worker.stored('cards').countDocuments({})
    expect(made).toBe(3 * REQUESTS)
  })
  const [person] = people
  await Promise.all(ids.map((id) => vote(setting, id, person ?? expect.unreachable(), 'approved')))
  await waitUntil(async () => {
    expect(await worker.stored('requests').countDocuments({ outbox_token: { $gt: '' } })).toBe(0)
    expect(await worker.stored('cards').countDocuments({ state: { $ne: 'idle' } })).toBe(0)
  }, AT_REST_MS)
  console.info(`200 requests × 3: at rest after ${Math.round(performance.now() - started)} ms`)
  const behind = await worker
    .stored('cards')
    .find({ shown: { $ne: 2 } })
    .toArray()
  expect(behind).toEqual([])
  const keys = chat.messages.map(({ to, shown }) => `${to} ${shown[0]?.request_id}`)
  expect(new Set(keys).size).toBe(keys.length)
  // Whoever had a card posted in time sees the decision, once said; the others were never asked.
  expect(chat.messages.every((message) => nowShown(message)?.status.kind === 'approved')).toBe(true)
  expect(chat.messages.every(({ replies }) => replies.length === 1)).toBe(true)
  const posted = await worker.stored('cards').countDocuments({ message: { $exists: true } })
  expect(posted).toBe(chat.messages.length)
  expect(chat.most.perRecipient).toBe(1)
})

import { describe, expect, it } from 'vitest'
import { addPushDevice } from '../../../src/flow/tell/manage-devices.ts'
import { remindApprovers } from '../../../src/flow/tell/remind-approvers.ts'
import { readCallbackLog } from '../../../src/flow/webhooks/delivery-log.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { usePushService } from '../../support/push-setting.ts'
import { type CardSetting, useCardSetting, vote } from '../chat/card-setting.ts'

/** Two approvers with cards and browsers, of whom the first has just rejected `count` requests. */
async function rejected(count: number, clock: { ahead: number }) {
  const push = await usePushService()
  const setting = await useCardSetting({ approvers: 2 }, { localTime: () => Date.now() + clock.ahead })
  const { worker, requester, people } = setting
  const browsers = []
  for (const person of people) {
    const browser = push.subscribe(worker.deps.pushKey.current().public_key)
    const { endpoint, keys } = browser.subscription
    await addPushDevice(worker.deps, person, { subscription: { endpoint, ...keys }, name: 'b' }, '127.0.0.1')
    browsers.push(browser)
  }
  for (let n = 0; n < count; n += 1) {
    const [first] = people
    if (first === undefined) throw new Error('nobody')
    await vote(setting, await requester.request(), first, 'rejected')
  }
  const work = await worker.start()
  await work.relay.run()
  return { setting, browsers, work }
}

const cardsOf = async ({ worker, people }: CardSetting, id: string) => {
  const cards = await worker.deps.cards.ofRequest(id)
  const users = cards.map(({ recipient }) => (recipient.kind === 'approver' ? recipient.user_id : 'channel'))
  return people.map(({ id: user }) => users.includes(user))
}

const told = (browsers: { messages: { payload: { tag: string } }[] }[], id: string) =>
  browsers.map(({ messages }) => messages.filter(({ payload }) => payload.tag === id).length)

describe('T24: quiet after three rejections', () => {
  it('sends that person neither card nor push of that key; the others are told, and it stands in the inbox', async () => {
    const { setting, browsers } = await rejected(3, { ahead: 0 })
    const { worker, requester, people } = setting
    const id = await requester.request()
    await waitUntil(async () => {
      expect(await cardsOf(setting, id)).toEqual([false, true])
      expect(told(browsers, id)).toEqual([0, 1])
    })
    const waiting = { user_id: String(people[0]?.id), principals: [], accounts: [] }
    const inbox = await worker.deps.requests.pendingFor(waiting, 10)
    expect(inbox.map((request) => request.id)).toEqual([id])
    const log = await readCallbackLog(worker.deps, requester.caller, id)
    expect(log.quiet).toEqual([{ approver: people[0]?.approver, until: expect.any(Date) }])
    expect(log.cards.map(({ approver }) => approver)).toEqual([people[1]?.approver])
  })

  it('lasts 15 minutes, reminders included; the caller is told what was accepted', async () => {
    const clock = { ahead: 0 }
    const { setting, browsers } = await rejected(3, clock)
    const { worker, requester, people } = setting
    const policy = { approvers: [people[0]?.id], quorum: 1, passkey_only: false, reminders: [] }
    await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { policy } })
    const id = await requester.request()
    expect((await remindApprovers(worker.deps, requester.caller, id)).accepted).toBe(false)
    expect(told(browsers, id)).toEqual([0, 0])
    expect(await worker.deps.cards.ofRequest(id)).toEqual([])
    clock.ahead = 15 * 60_000
    const later = await remindApprovers(worker.deps, requester.caller, id)
    expect(later.accepted).toBe(true)
    await waitUntil(async () => {
      expect(await cardsOf(setting, id)).toEqual([true, false])
      expect(told(browsers, id)).toEqual([1, 0])
    })
  })

  it('says no reminder under a card from before', async () => {
    const { setting, browsers } = await rejected(2, { ahead: 0 })
    const { worker, requester, people, chat } = setting
    const id = await requester.request()
    await waitUntil(() => expect(told(browsers, id)).toEqual([1, 1]))
    await waitUntil(async () => {
      expect((await worker.deps.cards.ofRequest(id)).every(({ state }) => state === 'idle')).toBe(true)
    })
    const [first] = people
    if (first === undefined) throw new Error('nobody')
    await vote(setting, await requester.request(), first, 'rejected')
    expect((await remindApprovers(worker.deps, requester.caller, id)).accepted).toBe(true)
    await waitUntil(() => expect(told(browsers, id)).toEqual([1, 2]))
    const replies = (await worker.deps.cards.ofRequest(id)).map(({ recipient, replies: said }) => [
      recipient.kind === 'approver' ? recipient.user_id : '',
      said.filter(({ kind }) => kind === 'reminder').length,
    ])
    expect(new Map(replies.map(([user, count]) => [user, count]))).toEqual(
      new Map([
        [people[0]?.id, 0],
        [people[1]?.id, 1],
      ]),
    )
    expect(chat.calls.length).toBeGreaterThan(0)
  })

  it('does not begin with two rejections, nor by approvals', async () => {
    const { setting, browsers } = await rejected(2, { ahead: 0 })
    const { requester, people } = setting
    const [first] = people
    if (first === undefined) throw new Error('nobody')
    await vote(setting, await requester.request(), first, 'approved')
    const id = await requester.request()
    await waitUntil(async () => {
      expect(await cardsOf(setting, id)).toEqual([true, true])
      expect(told(browsers, id)).toEqual([1, 1])
    })
  })
})

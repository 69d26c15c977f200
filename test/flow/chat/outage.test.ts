import { expect, it } from 'vitest'
import { expireRequests } from '../../../src/flow/requests/settle-request.ts'
import { nowShown, type PlatformCall, waitUntil } from '../../support/chat-platform.ts'
import { type CardSetting, untilAtRest, useCardSetting, vote } from './card-setting.ts'

/** A setting whose clock moves only when the test says so, by seconds. */
async function useOutage(options: Parameters<typeof useCardSetting>[0]) {
  let passed = 0
  const began = Date.now()
  const setting = await useCardSetting(options, { localTime: () => began + passed * 1000 })
  const work = await setting.worker.start()
  const { deps } = setting.worker
  /** Waits until everything that is due now was tried. */
  const settled = async () => {
    work.loops.cards.wake()
    await waitUntil(async () => {
      const now = deps.clock.now()
      const open = { $or: [{ state: 'leased' }, { state: 'due', next_at: { $lte: now } }] }
      expect(await setting.worker.stored('cards').countDocuments(open)).toBe(0)
    })
  }
  return {
    ...setting,
    settled,
    async pass(seconds: number, step = 5) {
      for (let left = seconds; left > 0; left -= step) {
        passed += step
        await settled()
      }
    },
    /** Waits until the request has its cards, and each was tried. */
    async tried(id: string, cards: number) {
      await waitUntil(async () => expect(await deps.cards.ofRequest(id)).toHaveLength(cards))
      await settled()
    },
    passed: () => passed,
  }
}

const AWAY = { outcome: 'failed' } as const

it.each(['slack', 'teams'] as const)(
  'ends within 30 s for every card: those of %s that waited for 6 minutes go out with the first answer',
  async (platform) => {
    const outage = await useOutage({ approvers: 3, platform })
    const { worker, chat, requester, people } = outage
    const wrong = await requester.request()
    await untilAtRest(worker, wrong, 3)
    chat.behave(() => AWAY)
    await vote(outage, wrong, people[0] ?? expect.unreachable(), 'rejected')
    const asked: string[] = []
    for (let nth = 0; nth < 6; nth += 1) {
      asked.push(await requester.request())
      await outage.tried(asked.at(-1) ?? '', 3)
      await outage.pass(5)
    }
    await outage.pass(330)
    // Each card's own first tries, and those of the probe.
    const calls = chat.calls.filter(({ what }) => what === 'post' || what === 'update').length
    expect(calls).toBeLessThan(3 + 21 * 6 + 360 / 10)
    chat.behave(() => undefined)
    const before = outage.passed()
    const standing = () =>
      asked.every((id) => people.every((_, n) => nowShown(safely(chat, `U${n + 1}`, id)) !== undefined)) &&
      people.every((_, n) => nowShown(chat.one(`U${n + 1}`, wrong))?.status.kind === 'rejected')
    while (!standing() && outage.passed() - before < 60) await outage.pass(1, 1)
    expect(standing()).toBe(true)
    expect(outage.passed() - before).toBeLessThanOrEqual(30)
  },
)

function safely(chat: CardSetting['chat'], to: string, request: string) {
  return chat.of(to).find(({ shown }) => shown[0]?.request_id === request)
}

it('is over with any card that is accepted: one of a new request has the others sent at once', async () => {
  const outage = await useOutage({ approvers: 2 })
  const { worker, chat, requester } = outage
  chat.behave(() => AWAY)
  const waiting = await requester.request()
  await outage.tried(waiting, 2)
  await outage.pass(360)
  chat.behave(() => undefined)
  const next = await requester.request()
  for (const id of [next, waiting]) await untilAtRest(worker, id, 2)
  expect(chat.messages).toHaveLength(4)
})

it('has another probe where the request of the first one ends meanwhile', async () => {
  const outage = await useOutage({ approvers: 1 })
  const { worker, chat, requester, people } = outage
  chat.behave(() => AWAY)
  const first = await requester.request()
  await outage.tried(first, 1)
  await outage.pass(60)
  const waiting = await requester.request()
  await outage.tried(waiting, 1)
  await outage.pass(240)
  // Nothing was posted about it, so nothing is to be told.
  await vote(outage, first, people[0] ?? expect.unreachable(), 'rejected')
  await untilAtRest(worker, first)
  await outage.pass(60)
  chat.behave(() => undefined)
  await outage.pass(20)
  expect(nowShown(chat.one('U1', waiting))?.status.kind).toBe('pending')
})

it('is asked about by every process that starts: what waited is tried at once', async () => {
  const outage = await useOutage({ approvers: 2 })
  const { worker, chat, requester } = outage
  chat.behave(() => AWAY)
  const id = await requester.request()
  await outage.tried(id, 2)
  await outage.pass(360)
  chat.behave(() => undefined)
  await worker.start()
  await untilAtRest(worker, id, 2)
  expect(chat.messages).toHaveLength(2)
})

it('is none where cards fail alone: others that get through have them tried no more often than a probe', async () => {
  const outage = await useOutage({ approvers: 3 })
  const { worker, chat, requester } = outage
  const fails = ({ to, what }: PlatformCall) => what === 'post' && (to === 'U1' || to === 'U2')
  chat.behave((call) => (fails(call) ? AWAY : undefined))
  for (let minute = 0; minute < 4; minute += 1)
    for (let nth = 0; nth < 6; nth += 1) {
      await outage.tried(await requester.request(), 3)
      await outage.pass(10)
    }
  const posts = chat.calls.filter(({ what, to }) => what === 'post' && to === 'U1')
  const most = Math.max(
    ...[...new Set(posts.map(({ request }) => request))].map(
      (request) => posts.filter((post) => post.request === request).length,
    ),
  )
  expect(most).toBeLessThanOrEqual(240 / 15 + 6)
  expect(chat.of('U3')).toHaveLength(24)
  expect(await worker.stored('cards').countDocuments({ state: 'due' })).toBe(48)
})

it('is none where a request lapsed whose card may or may not stand: the card waits for the expiry to be written', async () => {
  const outage = await useOutage({ approvers: 1 })
  const { worker, chat, requester } = outage
  let away = true
  chat.behave(({ what, nth }) => {
    if (what !== 'post' || !away) return undefined
    return nth === 1 ? 'lost' : { outcome: 'rate_limited', retry_after: 5 }
  })
  const id = await requester.request()
  await outage.tried(id, 1)
  await outage.pass(5)
  await worker.stored('requests').updateOne({ _id: id }, { $set: { expires_at: new Date(0) } })
  away = false
  const before = chat.calls.length
  await outage.pass(5)
  expect(await worker.deps.cards.ofRequest(id)).toMatchObject([{ state: 'idle', tries: 0 }])
  expect(chat.calls).toHaveLength(before)
  await expireRequests(worker.deps)
  await untilAtRest(worker, id)
  expect(chat.of('U1').map((message) => nowShown(message)?.status.kind)).toEqual(['pending', 'expired'])
})

import { expect, it } from 'vitest'
import { nowShown, type PlatformCall, waitUntil } from '../../support/chat-platform.ts'
import { asMembers } from '../../support/members.ts'
import { letTimePass, untilAtRest, useCardSetting, vote } from './card-setting.ts'

const cardsOf = (setting: Awaited<ReturnType<typeof useCardSetting>>, id: string) =>
  setting.worker.deps.cards.ofRequest(id)

it('sends the others their cards when one of three cannot be reached, and says who', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  const { worker, chat, people, requester } = setting
  chat.members.delete(people[1]?.email ?? expect.unreachable())
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 3)
  expect(chat.messages.map(({ to }) => to).sort()).toEqual(['U1', 'U3'])
  const lost = (await cardsOf(setting, id)).filter(({ state }) => state === 'unreachable')
  expect(lost).toMatchObject([
    { recipient: { user_id: people[1]?.id }, attempts: [{ what: 'post', outcome: 'unreachable' }] },
  ])
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved')
  await untilAtRest(worker, id, 3)
  expect(nowShown(chat.one('U3', id))?.status.kind).toBe('approved')
  // It is still on record that nobody could be told, and nobody was asked about what is over.
  const states = (await cardsOf(setting, id)).map(({ state }) => state)
  expect(states.sort()).toEqual(['idle', 'idle', 'unreachable'])
})

it('lets a recipient who never answers delay nobody else', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  const { worker, chat, requester } = setting
  let letGo = (): void => undefined
  const stuck = new Promise<undefined>((resolve) => {
    letGo = () => resolve(undefined)
  })
  chat.behave((call) => (call.to === 'U2' ? stuck : undefined))
  await worker.start()
  const ids = await Promise.all(Array.from({ length: 20 }, () => requester.request()))
  await waitUntil(() => expect([chat.of('U1').length, chat.of('U3').length]).toEqual([20, 20]))
  expect(chat.of('U2')).toEqual([])
  letGo()
  for (const id of ids) await untilAtRest(worker, id, 3)
  expect(chat.of('U2')).toHaveLength(20)
  expect(chat.most.perRecipient).toBe(1)
})

it('waits as long as the platform asks, with all messages to that recipient, and gives nothing up', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester } = setting
  const times: [number, PlatformCall][] = []
  chat.behave((call) => {
    if (call.what === 'post') times.push([performance.now(), call])
    return call.what === 'post' && call.to === 'U1' && call.nth === 1
      ? { outcome: 'rate_limited', retry_after: 2 }
      : undefined
  })
  await worker.start()
  const ids = [await requester.request(), await requester.request()]
  for (const id of ids) await untilAtRest(worker, id, 2)
  const [refused, next] = times.filter(([, { to }]) => to === 'U1').map(([time]) => time)
  expect((next ?? 0) - (refused ?? 0)).toBeGreaterThanOrEqual(1_900)
  expect(times.filter(([, { to }]) => to === 'U2').every(([time]) => time < (next ?? 0))).toBe(true)
  expect(chat.of('U1')).toHaveLength(2)
  const limited = (await Promise.all(ids.map((id) => cardsOf(setting, id)))).flat()
  expect(limited.every(({ tries }) => tries === 0)).toBe(true)
})

it('tries again after 1 s, 5 s, 30 s and 5 min, then rests until something new happens', async () => {
  const setting = await useCardSetting({ approvers: 1, quorum: 2 })
  const { worker, chat, requester, people } = setting
  chat.behave(({ what }) => (what === 'update' ? { outcome: 'timeout' } : undefined))
  const work = await worker.start()
  const policy = { approvers: [people[0]?.id, requester.user.id], quorum: 2, passkey_only: false }
  await worker
    .stored('accounts')
    .updateOne({ _id: requester.account.id }, { $set: { policy, members: asMembers(policy.approvers) } })
  chat.members.set(requester.user.email, { platform: 'slack', tenant: 'T1', user: 'U9' })
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved', { closes: false })
  const mine = async () => (await cardsOf(setting, id))[0] ?? expect.unreachable()
  const delays: number[] = []
  for (let tries = 1; tries <= 4; tries += 1) {
    await waitUntil(async () => expect(await mine()).toMatchObject({ state: 'due', tries }))
    const { next_at, attempts } = await mine()
    delays.push(Math.round((next_at.getTime() - (attempts.at(-1)?.at.getTime() ?? 0)) / 1000))
    await letTimePass(setting, work.loops.cards.wake)
  }
  expect(delays).toEqual([1, 5, 30, 300])
  await untilAtRest(worker, id, 2)
  expect(await mine()).toMatchObject({ state: 'idle', shown: 1, wanted: 2, tries: 0 })
  chat.behave(() => undefined)
  await vote(setting, id, requester.user, 'approved')
  await untilAtRest(worker, id, 2)
  expect(await mine()).toMatchObject({ state: 'idle', shown: 3, wanted: 3 })
  expect(chat.one('U1', id).shown.map(({ version }) => version)).toEqual([1, 3])
})

it('never shows less than what is final: a post that comes home late is followed by the decision', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  let letGo = (): void => undefined
  let began = (): void => undefined
  const posting = new Promise<void>((resolve) => {
    began = resolve
  })
  const late = new Promise<undefined>((resolve) => {
    letGo = () => resolve(undefined)
  })
  chat.behave(({ what }) => {
    if (what !== 'post') return undefined
    began()
    return late
  })
  await worker.start()
  const id = await requester.request()
  await posting
  await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  await waitUntil(async () => expect(await cardsOf(setting, id)).toMatchObject([{ wanted: 2 }]))
  letGo()
  await untilAtRest(worker, id)
  const { shown, replies } = chat.one('U1', id)
  expect(shown.map(({ status }) => status.kind)).toEqual(['pending', 'rejected'])
  expect(replies).toMatchObject([{ kind: 'decided' }])
})

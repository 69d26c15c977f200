import { expect, it } from 'vitest'
import type { ChatIdentity } from '../../../src/domain/chat.ts'
import type { User } from '../../../src/domain/user.ts'
import { createLookup } from '../../../src/flow/tell/cards/find-addresses.ts'
import { remindApprovers } from '../../../src/flow/tell/remind-approvers.ts'
import { createChatPlatform, letLook, nowShown, waitUntil } from '../../support/chat-platform.ts'
import { clockOf } from '../../support/clock.ts'
import {
  type CardSetting,
  holdRetries,
  letTimePass,
  untilAtRest,
  useCardSetting,
  vote,
} from './card-setting.ts'

/** Links identities, the later ones later. */
async function link({ worker: { deps } }: CardSetting, person: User, ...ids: [string, string][]) {
  const chat = ids.map(([tenant, user], n) => ({
    platform: 'slack' as const,
    tenant,
    user,
    linked_at: new Date(n),
  }))
  const now = (await deps.users.find(person.id)) ?? expect.unreachable()
  await deps.users.change(person.id, now.version, { chat }, [])
}

/** Lets time pass until the card rests, up to date. */
async function untilMended(setting: CardSetting, id: string, wake: () => void): Promise<void> {
  const { cards, requests } = setting.worker.deps
  await waitUntil(async () => {
    await letTimePass(setting, wake)
    const { version } = (await requests.find(id)) ?? expect.unreachable()
    expect(await cards.ofRequest(id)).toMatchObject([{ state: 'idle', shown: version }])
  })
}

const first = ({ people }: CardSetting): User => people[0] ?? expect.unreachable()

it('sends the card to the identity that the person linked last, without asking for their e-mail address', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  chat.tenants = ['T1', 'T2']
  await link(setting, first(setting), ['T1', 'ULINKED1'], ['T2', 'ULINKED2'], ['T-gone', 'UGONE'])
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  expect(chat.calls.map(({ what, to }) => [what, to])).toEqual([['post', 'ULINKED2']])
  expect(chat.one('ULINKED2', id).shown[0]).not.toHaveProperty('invite_to_link')
  expect(chat.one('ULINKED2', id).ref.tenant).toBe('T2')
})

it('tries the other identities when one is not reachable any more', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await link(setting, first(setting), ['T1', 'UOLD'], ['T1', 'UNEW'])
  chat.behave(({ to }) => (to === 'UNEW' ? { outcome: 'unreachable' } : undefined))
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  expect(chat.messages.map(({ to }) => to)).toEqual(['UOLD'])
})

it('goes by e-mail where the linked identity is gone for good, and to the person again once they link anew', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await link(setting, first(setting), ['T1', 'UGONE'])
  const unknown = { outcome: 'unreachable', code: 'user_not_found' } as const
  chat.behave(({ to }) => (to === 'UGONE' ? unknown : undefined))
  const work = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).shown[0]).toMatchObject({ invite_to_link: true })
  await vote(setting, id, first(setting), 'approved')
  await untilAtRest(worker, id)
  expect(chat.one('U1', id)).toMatchObject({ moved: false, replies: [{ kind: 'decided' }] })
  const next = await requester.request()
  await untilAtRest(worker, next)
  await link(setting, first(setting), ['T1', 'UNEW'])
  await vote(setting, next, first(setting), 'rejected')
  await untilMended(setting, next, work.loops.cards.wake)
  expect(chat.one('U1', next)).toMatchObject({ moved: true, replies: [] })
})

it('asks for no address while the linked identity may come back, nor where the app may not', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await link(setting, first(setting), ['T1', 'UAWAY'])
  await worker.start()
  chat.behave(({ to }) => (to === 'UAWAY' ? { outcome: 'unreachable', passing: true } : undefined))
  const waiting = await requester.request()
  await waitUntil(async () =>
    expect(await worker.deps.cards.ofRequest(waiting)).toMatchObject([{ tries: 1 }]),
  )
  expect(chat.calls.filter(({ what }) => what === 'lookup')).toEqual([])
  chat.behave(({ to, what }) => {
    if (what === 'lookup') return { outcome: 'unavailable', code: 'missing_scope' }
    return to === 'UAWAY' ? { outcome: 'unreachable', code: 'user_not_found' } : undefined
  })
  const lost = await requester.request()
  await untilAtRest(worker, lost)
  expect(await worker.deps.cards.ofRequest(lost)).toMatchObject([{ state: 'unreachable' }])
  expect((await worker.deps.accounts.find(requester.account.id))?.chat_troubles ?? []).toEqual([])
})

it('goes to another workspace where the person is linked when one refuses the app, and reports that one', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  chat.tenants = ['T1', 'T2', 'T3']
  await link(setting, first(setting), ['T3', 'U3'], ['T1', 'U1'], ['T2', 'U2'])
  chat.behave(({ to }) => {
    if (to === 'U1') return { outcome: 'unreachable' }
    return to === 'U2' ? { outcome: 'unavailable', code: 'token_revoked' } : undefined
  })
  await worker.start()
  const id = await requester.request()
  await waitUntil(() => expect(chat.messages.map(({ to }) => to)).toEqual(['U3']))
  await untilAtRest(worker, id)
  const account = await worker.deps.accounts.find(requester.account.id)
  expect(account?.chat_troubles).toMatchObject([{ tenant: 'T2', reason: 'token_revoked' }])
  chat.behave(({ to }) =>
    to === 'U2' ? { outcome: 'unavailable', code: 'token_revoked' } : { outcome: 'unreachable' },
  )
  holdRetries(setting)
  const lost = await requester.request()
  const due = { attempts: [{ outcome: 'unavailable' }], state: 'due' }
  await waitUntil(async () => expect(await worker.deps.cards.ofRequest(lost)).toMatchObject([due]))
})

it('T37: sends who is only known by e-mail the card with an invitation, which goes once they linked', async () => {
  const setting = await useCardSetting({ quorum: 1 })
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  await link(setting, first(setting), ['T1', 'U1'])
  await vote(setting, id, requester.user, 'approved', { closes: false })
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).shown.map((view) => view.invite_to_link)).toEqual([true, undefined])
})

it('T37: takes a card out of the chat of somebody whom the person unlinked, and tells that chat nothing more', async () => {
  const setting = await useCardSetting({ quorum: 1 })
  const { worker, chat, requester } = setting
  await link(setting, first(setting), ['T1', 'UTHIEF'])
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  await link(setting, first(setting), ['T1', 'UNEW'])
  await vote(setting, id, requester.user, 'approved', { closes: false })
  await untilAtRest(worker, id)
  expect(chat.one('UTHIEF', id)).toMatchObject({ moved: true, replies: [] })
  expect(chat.one('UTHIEF', id).shown).toHaveLength(1)
  expect(chat.one('UNEW', id).moved).toBe(false)

  await link(setting, first(setting))
  await vote(setting, id, first(setting), 'rejected', { comment: 'Not for thieves' })
  await untilAtRest(worker, id)
  for (const user of ['UTHIEF', 'UNEW']) {
    expect(chat.one(user, id)).toMatchObject({ moved: true, replies: [] })
    expect(JSON.stringify(chat.one(user, id))).not.toContain('Not for thieves')
  }
})

it('T37: takes a card back from whom the e-mail address led to once the person says who they are', async () => {
  const setting = await useCardSetting({ quorum: 1 })
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).shown[0]).toMatchObject({ invite_to_link: true })
  await link(setting, first(setting), ['T1', 'UREAL'])
  await vote(setting, id, first(setting), 'approved')
  await untilAtRest(worker, id)
  expect(chat.one('U1', id)).toMatchObject({ moved: true, replies: [] })
  expect(chat.of('UREAL')).toEqual([])
})

it('T37: reminds nobody in a chat that is no longer the person’s, while they cannot be reached where they are', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const { cards, clock } = worker.deps
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  await link(setting, first(setting), ['T1', 'UREAL'])
  chat.behave(({ to }) => (to === 'UREAL' ? { outcome: 'unreachable' } : undefined))
  await remindApprovers(worker.deps, requester.caller, id)
  await waitUntil(() => expect(chat.calls).toContainEqual(expect.objectContaining({ to: 'UREAL' })))
  await untilAtRest(worker, id)
  expect(chat.one('U1', id)).toMatchObject({ moved: true, replies: [] })
  expect(await cards.ofRequest(id)).toMatchObject([{ state: 'unreachable', replies: [{ state: 'due' }] }])
  chat.behave(() => undefined)
  await cards.retryUnreachable({ recipient: `slack:approver:${first(setting).id}` }, clock.now())
  await untilAtRest(worker, id)
  expect(chat.one('UREAL', id).moved).toBe(false)
  expect(chat.one('U1', id)).toMatchObject({ moved: true, replies: [] })
})

it.each([
  { trouble: 'its answer was lost', over: false },
  { trouble: 'the process died', over: false },
  { trouble: 'its answer was lost', over: true },
  { trouble: 'the process died', over: true },
  { trouble: 'its answer was lost', over: true, blind: true },
])(
  'takes a card to the chat of a new identity once, though of the first try $trouble (over $over, blind $blind)',
  async ({ trouble, over, blind }) => {
    const setting = await useCardSetting()
    const { worker, chat, requester } = setting
    const { cards, clock } = worker.deps
    const { finish } = cards
    if (!blind) letLook(chat)
    await link(setting, first(setting), ['T1', 'UOLD'])
    const work = await worker.start()
    const id = await requester.request()
    await untilAtRest(worker, id)
    await link(setting, first(setting), ['T1', 'UNEW'])
    const lost = trouble === 'its answer was lost'
    if (lost) chat.behave(({ what, to }) => (what === 'post' && to === 'UNEW' ? 'lost' : undefined))
    const tried = new Promise<void>((resolve) => {
      cards.finish = async (...result) => {
        const state = lost ? await finish(...result) : undefined
        resolve()
        return state ?? Promise.reject(new Error('killed'))
      }
    })
    await cards.renew([id], `slack:approver:${first(setting).id}`, clock.now())
    work.loops.cards.wake()
    await tried
    cards.finish = finish
    chat.behave(() => undefined)
    expect(chat.of('UNEW')).toHaveLength(1)
    if (over) await vote(setting, id, first(setting), 'rejected')
    await untilMended(setting, id, work.loops.cards.wake)
    if (!over) await vote(setting, id, first(setting), 'rejected')
    await untilMended(setting, id, work.loops.cards.wake)
    const states = chat.of('UNEW').map((message) => nowShown(message)?.status.kind)
    expect(states).toEqual(blind ? ['pending', 'rejected'] : ['rejected'])
    expect(chat.one('UOLD', id)).toMatchObject({ moved: true, replies: [] })
  },
)

it('says no outcome in the chat of a new identity because of a lost answer before the last accepted post', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await link(setting, first(setting), ['T1', 'UOLD'])
  chat.behave(({ what, nth }) => (what === 'post' && nth === 1 ? 'lost' : undefined))
  const work = await worker.start()
  const id = await requester.request()
  await untilMended(setting, id, work.loops.cards.wake)
  expect(chat.of('UOLD')).toHaveLength(2)
  chat.behave(() => undefined)
  await link(setting, first(setting), ['T1', 'UNEW'])
  await vote(setting, id, first(setting), 'rejected')
  await untilMended(setting, id, work.loops.cards.wake)
  expect(chat.of('UNEW')).toEqual([])
  expect(chat.of('UOLD').map(({ moved }) => moved)).toEqual([false, true])
})

it('leaves a card where it is while its workspace is away or gone', async () => {
  const setting = await useCardSetting({ quorum: 1 })
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  await link(setting, first(setting), ['T9', 'UELSEWHERE'])
  chat.tenants = ['T9']
  await vote(setting, id, first(setting), 'approved')
  await untilAtRest(worker, id)
  expect(chat.messages.map(({ to, moved }) => [to, moved])).toEqual([['U1', false]])
})

it('asks a platform once for an address, and again when nobody is there any more', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await worker.start()
  const ids = [await requester.request(), await requester.request()]
  for (const id of ids) await untilAtRest(worker, id)
  const lookups = () => chat.calls.filter(({ what }) => what === 'lookup').length
  expect(lookups()).toBe(1)
  chat.behave(({ what }) => (what === 'post' ? { outcome: 'unreachable' } : undefined))
  await untilAtRest(worker, await requester.request())
  chat.behave(() => undefined)
  await untilAtRest(worker, await requester.request())
  expect(lookups()).toBe(2)
})

it('remembers whom it found for a day, whom it did not find for ten minutes, and failures never', async () => {
  const chat = createChatPlatform()
  let now = Date.parse('2026-03-01T10:00:00.000Z')
  const lookup = createLookup(clockOf(() => now))
  const here: ChatIdentity = { platform: 'slack', tenant: 'T1', user: 'U1' }
  chat.members.set('here@example.com', here)
  const ask = async (email: string) => {
    const before = chat.calls.length
    const answer = await lookup.find(chat, 'T1', email)
    return [answer.ok ? answer.value?.user : answer.outcome, chat.calls.length - before]
  }
  expect(await ask('here@example.com')).toEqual(['U1', 1])
  expect(await ask('away@example.com')).toEqual([undefined, 1])
  now += 599_000
  expect([await ask('here@example.com'), await ask('away@example.com')]).toEqual([
    ['U1', 0],
    [undefined, 0],
  ])
  now += 2_000
  expect(await ask('away@example.com')).toEqual([undefined, 1])
  now += 24 * 3_600_000
  chat.behave(() => ({ outcome: 'timeout' }))
  expect(await ask('here@example.com')).toEqual(['timeout', 1])
  chat.behave(() => undefined)
  expect(await ask('here@example.com')).toEqual(['U1', 1])
})

it('tries again when the platform could not be asked where somebody is, instead of calling them unreachable', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  chat.behave(({ what, nth }) => (what === 'lookup' && nth === 1 ? { outcome: 'failed' } : undefined))
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  expect(chat.of('U1')).toHaveLength(1)
  expect(await worker.deps.cards.ofRequest(id)).toMatchObject([
    { attempts: [{ what: 'post', outcome: 'failed' }, { outcome: 'accepted' }] },
  ])
})

it('records who was sent a card and who could not be, never of where on the platform they are', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester, people } = setting
  chat.members.delete(people[1]?.email ?? expect.unreachable())
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  const about = async (type: 'card.posted' | 'card.unreachable') =>
    (await worker.deps.trail.list({ account_id: requester.account.id, type, limit: 10 })).map(
      ({ entry }) => entry?.detail,
    )
  await expect
    .poll(async () => [await about('card.posted'), await about('card.unreachable')])
    .toEqual([
      [{ request_id: id, platform: 'slack', recipient: people[0]?.id }],
      [{ request_id: id, platform: 'slack', recipient: people[1]?.id }],
    ])
})

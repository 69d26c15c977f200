import { expect, it } from 'vitest'
import { MOST_TROUBLES } from '../../../src/domain/chat-trouble.ts'
import {
  addInstallation,
  leaveInstallation,
  removeInstallation,
} from '../../../src/flow/chat/connect-account.ts'
import { remindApprovers } from '../../../src/flow/tell/remind-approvers.ts'
import { beginTrouble, createTroubleWatch, endTrouble } from '../../../src/flow/tell/trouble.ts'
import { createChatPlatform, nowShown, waitUntil } from '../../support/chat-platform.ts'
import { newRequester } from '../../support/worker.ts'
import {
  type CardSetting,
  holdRetries,
  letTimePass,
  untilAtRest,
  useCardSetting,
  vote,
} from './card-setting.ts'

const FRESH = { platform: 'slack', tenant: 'T1', workspace_name: 'Acme', sealed: 'x' } as const

/** Lets workspaces install the app, as Slack does: without it every call is refused. */
function letInstall({ worker: { deps }, chat }: CardSetting): void {
  chat.tenantsOf = async (id) => (await deps.installations.ofAccount('slack', id)).map(({ tenant }) => tenant)
  chat.behave(async () =>
    (await deps.installations.find('slack', 'T1')) === undefined
      ? { outcome: 'unavailable', code: 'not_installed' }
      : undefined,
  )
}

const ownerOf = ({ account }: CardSetting['requester']) =>
  ({ accountId: account.id, actor: { kind: 'service' } }) as const

/** What an account was told of its workspaces, oldest first. */
async function toldOf(
  { worker: { deps } }: CardSetting,
  account_id: string,
): Promise<(string | undefined)[]> {
  const told = await deps.trail.list({ account_id, limit: 50 })
  return told.flatMap(({ entry }) => (entry?.subject === account_id ? [entry.type] : [])).reverse()
}

const REVOKED = { outcome: 'unavailable', code: 'token_revoked' } as const

it('is told once, to webhooks, the trail and the owner’s other chat, and again when the workspace is back', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const { accounts, users, trail } = worker.deps
  const [person = expect.unreachable()] = people
  // Serves no card of the account; its owner reads it all the same.
  const otherChat = createChatPlatform('teams')
  otherChat.tenants = []
  worker.deps.chats = [chat, otherChat]
  const work = await worker.start()
  const [over, ...others] = [await requester.request(), await requester.request(), await requester.request()]
  for (const id of [over, ...others]) await untilAtRest(worker, id)
  chat.behave(({ what }) => (what === 'notice' ? undefined : REVOKED))
  const owner = (await users.find(requester.user.id)) ?? expect.unreachable()
  const elsewhere = { platform: 'teams', tenant: 'T9', user: 'U-owner', linked_at: new Date(0) } as const
  const here = { ...elsewhere, platform: 'slack', tenant: 'T1' } as const
  await users.change(owner.id, owner.version, { chat: [elsewhere, here] }, [])
  for (const id of [over, ...others]) await vote(setting, id, person, 'rejected')
  const failed = () =>
    worker.stored('cards').countDocuments({ 'attempts.outcome': 'unavailable', state: 'due' })
  await waitUntil(async () => expect(await failed()).toBe(3))
  for (let tries = 0; tries < 5; tries += 1) await letTimePass(setting, work.loops.cards.wake)
  const toldThere = () => otherChat.notices.map(({ to, view }) => [to, view.notice.type])
  const told = async () => {
    const found = await trail.list({ account_id: requester.account.id, limit: 50 })
    return found.flatMap(({ entry }) => (entry?.subject === requester.account.id ? [entry] : [])).reverse()
  }
  await waitUntil(async () =>
    expect(await told()).toMatchObject([
      { type: 'chat.unavailable', detail: { platform: 'slack', tenant: 'T1', reason: 'token_revoked' } },
    ]),
  )
  expect((await accounts.find(requester.account.id))?.chat_troubles).toMatchObject([
    { reason: 'token_revoked' },
  ])
  // The owner hears of it where it can be heard.
  await waitUntil(() => expect(toldThere()).toEqual([['U-owner', 'chat.unavailable']]))
  expect(chat.notices).toEqual([])
  chat.behave(() => undefined)
  const past = new Date(worker.deps.clock.now().getTime() - 1)
  const later = new Date(past.getTime() + 800_000)
  await worker.stored('cards').updateMany({ state: 'due' }, { $set: { next_at: later, tries: 4 } })
  await worker.stored('cards').updateOne({ request_id: over, state: 'due' }, { $set: { next_at: past } })
  work.loops.cards.wake()
  // One that got through brings the others, long before their own time.
  for (const id of [over, ...others]) await untilAtRest(worker, id)
  for (const id of [over, ...others]) expect(nowShown(chat.one('U1', id))?.status.kind).toBe('rejected')
  await waitUntil(async () =>
    expect((await told()).map(({ type }) => type)).toEqual(['chat.unavailable', 'chat.restored']),
  )
  expect((await accounts.find(requester.account.id))?.chat_troubles).toEqual([])
  await waitUntil(() => expect(chat.notices.map(({ view }) => view.notice.type)).toEqual(['chat.restored']))
  await waitUntil(() => expect(toldThere().at(-1)).toEqual(['U-owner', 'chat.restored']))
})

it('is over with the next card that is accepted, also when none waits and another process had noted it', async () => {
  const setting = await useCardSetting()
  const { worker, requester } = setting
  const card = { account_id: requester.account.id, platform: 'slack' } as const
  const other = createTroubleWatch(worker.deps)
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  const [stored = expect.unreachable()] = await worker.deps.cards.ofRequest(id)
  await other.failed({ ...stored, ...card }, { tenant: 'T1' }, 'invalid_auth')
  const read = async () => (await worker.deps.accounts.find(requester.account.id))?.chat_troubles ?? []
  expect(await read()).toHaveLength(1)
  await createTroubleWatch(worker.deps).worked(stored, { tenant: 'T-other' })
  expect(await read()).toHaveLength(1)
  await createTroubleWatch(worker.deps).worked(stored, { tenant: 'T1' })
  expect(await read()).toEqual([])
})

it('of one channel is its own: people get their cards, its owner hears of it there, and what waited comes once it posts', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const { users, accounts, trail } = worker.deps
  const channel = { platform: 'slack', tenant: 'T1', channel: 'C1', name: 'deploys' } as const
  await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { channels: [channel] } })
  const owner = (await users.find(requester.user.id)) ?? expect.unreachable()
  const here = { platform: 'slack', tenant: 'T1', user: 'U-owner', linked_at: new Date(0) } as const
  await users.change(owner.id, owner.version, { chat: [here] }, [])
  const troubles = async () => (await accounts.find(requester.account.id))?.chat_troubles ?? []
  chat.behave(({ to }) => (to === 'C1' ? { outcome: 'unreachable', code: 'not_in_channel' } : undefined))
  await worker.start()
  const ids = [await requester.request(), await requester.request()]
  for (const id of ids) await untilAtRest(worker, id, 2)
  expect(await troubles()).toMatchObject([
    { platform: 'slack', tenant: 'T1', channel: 'C1', name: 'deploys', reason: 'not_in_channel' },
  ])
  expect(chat.of('U1')).toHaveLength(2)
  await waitUntil(() =>
    expect(chat.notices.map(({ view }) => view.notice)).toMatchObject([
      { type: 'chat.unavailable', name: 'Slack, deploys' },
    ]),
  )
  chat.behave(() => undefined)
  ids.push(await requester.request())
  await waitUntil(() => expect(chat.of('C1')).toHaveLength(3))
  await waitUntil(async () => expect(await troubles()).toEqual([]))
  const told = (await trail.list({ account_id: requester.account.id, limit: 50 })).map(({ entry }) => entry)
  expect(told.filter((entry) => entry?.type === 'chat.unavailable')).toHaveLength(1)
  await waitUntil(() => expect(chat.notices).toHaveLength(2))
})

it('of one channel is not the workspace’s either when Slack refuses the app there alone', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const channel = { platform: 'slack', tenant: 'T1', channel: 'C1', name: 'deploys' } as const
  await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { channels: [channel] } })
  const codes = [
    'team_access_not_granted',
    'access_denied',
    'no_permission',
    'ekm_access_denied',
    'team_not_found',
  ]
  await worker.start()
  for (const code of codes) {
    chat.behave(({ to }) => (to === 'C1' ? { outcome: 'unavailable', code } : undefined))
    const id = await requester.request()
    await waitUntil(async () => {
      const outcomes = (await worker.deps.cards.ofRequest(id)).map(({ attempts }) => attempts.at(-1)?.outcome)
      expect(outcomes.sort()).toEqual(['accepted', 'unavailable'])
    })
  }
  expect((await worker.deps.accounts.find(requester.account.id))?.chat_troubles).toMatchObject([
    { tenant: 'T1', channel: 'C1', name: 'deploys' },
  ])
  await waitUntil(async () =>
    expect(await toldOf(setting, requester.account.id)).toContain('chat.unavailable'),
  )
  expect(await toldOf(setting, requester.account.id)).toEqual(['chat.unavailable'])
  // What waited there comes with the first card that is accepted.
  const later = new Date(worker.deps.clock.now().getTime() + 900_000)
  await worker.stored('cards').updateMany({ state: 'due' }, { $set: { next_at: later, tries: 4 } })
  chat.behave(() => undefined)
  await requester.request()
  const due = () => worker.stored('cards').countDocuments({ state: { $ne: 'idle' } })
  await waitUntil(async () => expect(await due()).toBe(0))
})

it('of more than an account can note none is told, until one is over', async () => {
  const { worker, chat, requester } = await useCardSetting()
  const { accounts } = worker.deps
  chat.tenants = ['T0']
  const place = (index: number) => ({ platform: 'slack', tenant: `T${index}` }) as const
  const begin = (index: number) =>
    beginTrouble(worker.deps, requester.account.id, { ...place(index), reason: 'app_removed' })
  const noted = async () =>
    (await accounts.find(requester.account.id))?.chat_troubles?.map(({ tenant }) => tenant)
  for (let index = 0; index <= MOST_TROUBLES; index += 1) await begin(index)
  expect(await noted()).toHaveLength(MOST_TROUBLES)
  await endTrouble(worker.deps, place(0))
  await begin(MOST_TROUBLES)
  expect(await noted()).toContain(`T${MOST_TROUBLES}`)
})

it('is over for no account but those that connected the workspace again', async () => {
  const setting = await useCardSetting()
  const { worker, requester } = setting
  const { deps } = worker
  const other = await newRequester(worker)
  const [mine, theirs] = [ownerOf(requester), ownerOf(other)]
  const { policy, members } = (await deps.accounts.find(mine.accountId)) ?? expect.unreachable()
  await worker.stored('accounts').updateOne({ _id: theirs.accountId }, { $set: { policy, members } })
  letInstall(setting)
  await worker.start()
  await addInstallation(deps, mine, FRESH, requester.user)
  await addInstallation(deps, theirs, FRESH, other.user)
  await removeInstallation(deps, 'slack', 'T1')
  await addInstallation(deps, theirs, FRESH, other.user)
  await untilAtRest(worker, await other.request())
  await waitUntil(async () =>
    expect(await toldOf(setting, theirs.accountId)).toEqual(['chat.unavailable', 'chat.restored']),
  )
  const troubles = async () => (await deps.accounts.find(mine.accountId))?.chat_troubles
  expect(await troubles()).toMatchObject([{ tenant: 'T1', reason: 'app_removed' }])
  await addInstallation(deps, mine, FRESH, requester.user)
  expect(await troubles()).toEqual([])
  await waitUntil(async () =>
    expect(await toldOf(setting, mine.accountId)).toEqual(['chat.unavailable', 'chat.restored']),
  )
})

it('is none in a workspace that the account gave up: its cards rest until it is connected again', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const { accounts, cards } = worker.deps
  const mine = ownerOf(requester)
  letInstall(setting)
  await worker.start()
  await addInstallation(worker.deps, mine, FRESH, requester.user)
  const [over, waiting] = [await requester.request(), await requester.request()]
  for (const id of [over, waiting]) await untilAtRest(worker, id)
  await leaveInstallation(worker.deps, mine, 'slack', 'T1')
  await vote(setting, over, people[0] ?? expect.unreachable(), 'rejected')
  await remindApprovers(worker.deps, requester.caller, waiting)
  const left = async () => (await Promise.all([over, waiting].map((id) => cards.ofRequest(id)))).flat()
  await waitUntil(async () => expect((await left()).every(({ attempts }) => attempts.length > 1)).toBe(true))
  for (const id of [over, waiting]) await untilAtRest(worker, id)
  expect((await left()).map(({ state }) => state)).toEqual(['unreachable', 'idle'])
  expect((await accounts.find(mine.accountId))?.chat_troubles ?? []).toEqual([])
  expect(await toldOf(setting, mine.accountId)).toEqual([])
  await addInstallation(worker.deps, mine, FRESH, requester.user)
  for (const id of [over, waiting]) await untilAtRest(worker, id)
  expect(nowShown(chat.one('U1', over))?.status.kind).toBe('rejected')
})

it('is none either where the workspace that was given up refuses the tokens of another account', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const { deps } = worker
  const other = await newRequester(worker)
  const mine = ownerOf(requester)
  letInstall(setting)
  const work = await worker.start()
  await addInstallation(deps, mine, FRESH, requester.user)
  await addInstallation(deps, ownerOf(other), FRESH, other.user)
  const id = await requester.request()
  await untilAtRest(worker, id)
  await leaveInstallation(deps, mine, 'slack', 'T1')
  holdRetries(setting)
  chat.behave(() => REVOKED)
  await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  const refused = { state: 'due', tries: 1 }
  await waitUntil(async () => expect(await deps.cards.ofRequest(id)).toMatchObject([refused]))
  expect((await deps.accounts.find(mine.accountId))?.chat_troubles ?? []).toEqual([])
  expect(await toldOf(setting, mine.accountId)).toEqual([])
  chat.behave(() => undefined)
  await letTimePass(setting, work.loops.cards.wake)
  await untilAtRest(worker, id)
  expect(nowShown(chat.one('U1', id))?.status.kind).toBe('rejected')
})

it('is over with the workspace that is given up, though the process died right after that', async () => {
  const setting = await useCardSetting()
  const { worker, requester, people } = setting
  const { installations, accounts, cards } = worker.deps
  const mine = ownerOf(requester)
  letInstall(setting)
  await worker.start()
  await addInstallation(worker.deps, mine, FRESH, requester.user)
  const id = await requester.request()
  await untilAtRest(worker, id)
  const place = { platform: 'slack', tenant: 'T1' } as const
  await beginTrouble(worker.deps, mine.accountId, { ...place, reason: 'token_revoked' })
  const leave: typeof installations.leave = async (...given) => {
    await installations.leave(...given)
    throw new Error('killed')
  }
  const dying = { ...worker.deps, installations: { ...installations, leave } }
  await expect(leaveInstallation(dying, mine, 'slack', 'T1')).rejects.toThrow('killed')
  expect((await accounts.find(mine.accountId))?.chat_troubles).toEqual([])
  await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  await untilAtRest(worker, id)
  expect(await cards.ofRequest(id)).toMatchObject([{ state: 'unreachable' }])
})

it('of others costs an accepted card no question about their workspaces, nor twice the same one', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const { deps } = worker
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  const [stored = expect.unreachable()] = await deps.cards.ofRequest(id)
  const asked: string[] = []
  chat.tenantsOf = async (account) => {
    asked.push(account)
    return []
  }
  const others = [await newRequester(worker), await newRequester(worker)]
  const trouble = { platform: 'slack', tenant: 'T9', reason: 'app_removed' } as const
  for (const { account } of others) await beginTrouble(deps, account.id, trouble)
  const watch = createTroubleWatch(deps)
  await watch.worked(stored, { tenant: 'T1' })
  expect(asked).toEqual([])
  for (let card = 0; card < 3; card += 1) await watch.worked(stored, { tenant: 'T9' })
  expect(asked.sort()).toEqual(others.map(({ account }) => account.id).sort())
})

it('is told though the process died while it noted that the app was removed', async () => {
  const setting = await useCardSetting()
  const { worker, requester } = setting
  const { accounts } = worker.deps
  const mine = ownerOf(requester)
  letInstall(setting)
  await worker.start()
  await addInstallation(worker.deps, mine, FRESH, requester.user)
  const dying = {
    ...worker.deps,
    accounts: { ...accounts, beginTrouble: () => Promise.reject(new Error('killed')) },
  }
  await expect(removeInstallation(dying, 'slack', 'T1')).rejects.toThrow('killed')
  // The platform repeats what was not acknowledged.
  expect(await removeInstallation(worker.deps, 'slack', 'T1')).toBe(true)
  await waitUntil(
    async () => expect(await toldOf(setting, mine.accountId)).toEqual(['chat.unavailable']),
    20_000,
  )
  await addInstallation(worker.deps, mine, FRESH, requester.user)
  await waitUntil(async () =>
    expect(await toldOf(setting, mine.accountId)).toEqual(['chat.unavailable', 'chat.restored']),
  )
})

it('is over again where the workspace was connected anew while the app was being removed', async () => {
  const setting = await useCardSetting()
  const { worker, requester } = setting
  const { accounts } = worker.deps
  const mine = ownerOf(requester)
  letInstall(setting)
  await addInstallation(worker.deps, mine, FRESH, requester.user)
  const again: typeof accounts.beginTrouble = async (...given) => {
    const began = await accounts.beginTrouble(...given)
    await worker.deps.installations.put({
      ...FRESH,
      account_ids: [mine.accountId],
      installed_at: new Date(1),
    })
    return began
  }
  const overtaken = { ...worker.deps, accounts: { ...accounts, beginTrouble: again } }
  expect(await removeInstallation(overtaken, 'slack', 'T1')).toBe(false)
  expect((await accounts.find(mine.accountId))?.chat_troubles).toEqual([])
})

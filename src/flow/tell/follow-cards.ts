import type { AuditType } from '../../domain/audit.ts'
import { type Bootstrap, isWaiting } from '../../domain/bootstrap.ts'
import type { Card, CardRecipient, ChatPlatform } from '../../domain/chat.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { noticesIn } from '../../domain/factor-notice.ts'
import { given } from '../../domain/given.ts'
import { tells, volumesOf } from '../../domain/hearing.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { OutboxEntry } from '../../ports/ports.ts'
import type { CardNews } from '../../store/chat/cards.ts'
import type { FlowDeps } from '../deps.ts'
import { pendingApprovers } from '../people/delegates.ts'
import { dueNow } from '../queue/send-loop.ts'
import { quietPeople } from '../requests/attention.ts'
import { servedTo, serves } from '../requests/notify-target.ts'
import { batchesOf, type CardBatch, lateId, reminderId } from './card-batch.ts'
import { cardsThatTell } from './tell-requester.ts'

/** The part of an outbox entry that may concern cards. */
type RequestEntry = Pick<OutboxEntry, 'id' | 'events' | 'audit'>

/** A new card shows the request as created; only these entries change what it shows. */
const SHOWN: ReadonlySet<AuditType> = new Set([
  'approval.voted',
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.cancelled',
])

/**
 * Applies outbox entries of requests to their cards: makes the cards of new requests and those that tell an outcome, raises the version
 * that other cards should show, and queues replies. Versions come from the stored requests, never from the entries. Calls no platform, and may
 * be repeated or interrupted anywhere: cards are unique, versions only rise, replies have ids. Sandbox requests have no cards; those
 * of a batch have theirs together.
 * @returns whether there may be cards to send
 */
export async function followCards(deps: FlowDeps, entries: readonly RequestEntry[]): Promise<boolean> {
  if (deps.chats.length === 0) return false
  const telling = entries.filter(
    (entry) => asks(entry) || isShown(entry) || repliesOf(entry, false).length > 0,
  )
  if (telling.length === 0) return false
  const found = await deps.requests.findMany(telling.map(({ id }) => id))
  const live = new Map(found.filter(({ sandbox }) => !sandbox).map((request) => [request.id, request]))
  // Read after the entries were written, so that the last of a batch sees that all are over.
  const batches = await batchesOf(deps, [...live.values()])
  const read = telling.map(async (entry) => {
    const request = live.get(entry.id)
    if (request === undefined) return []
    const batch = batches.get(request.batch?.id ?? '')
    return [{ entry, request, ...given({ batch }), quiet: await quietNow(deps, entry, request) }]
  })
  const about = (await Promise.all(read)).flat()
  // No card asks about a request that is over. A reminder also reaches approvers who had no chat when the request was made.
  const made = about.filter(({ entry, request }) => asks(entry) && request.status === 'pending')
  const told = about
    .filter(({ entry }) => isShown(entry))
    .map(({ request }) => newOutcomeCards(deps, request))
  await deps.cards.insertNew([...(await addressCards(deps, made)), ...(await Promise.all(told)).flat()])
  const at = deps.clock.now()
  const news = about.map(({ quiet, batch, ...one }) => ({
    ...(batch === undefined ? newsOf(one, at) : newsOfBatch({ ...one, batch }, at)),
    unreminded: [...quiet],
  }))
  await deps.cards.follow(
    joinNews(news).filter(({ version, replies }) => version !== undefined || replies.length > 0),
  )
  return about.length > 0
}

async function newOutcomeCards(deps: FlowDeps, request: ApprovalRequest): Promise<Card[]> {
  const wanted = await cardsThatTell(deps, request)
  return wanted.map(({ platform, recipient }) => newCard(deps, request, platform, recipient))
}

/** Makes the cards that pending requests lack because a workspace was connected later or is back. */
export async function makeCards(deps: FlowDeps, requests: readonly ApprovalRequest[]): Promise<void> {
  const asked = requests.filter(({ sandbox, status }) => !sandbox && status === 'pending')
  const batches = await batchesOf(deps, asked)
  const about = asked.map(async (request) => {
    const batch = batches.get(request.batch?.id ?? '')
    return { request, ...given({ batch }), quiet: await quietInChat(deps, request, request.created_at) }
  })
  await deps.cards.insertNew(await addressCards(deps, await Promise.all(about)))
}

/** Returns the approvers who hear nothing in chat of what a key last asked or reminded of. */
async function quietNow(
  deps: FlowDeps,
  { events }: RequestEntry,
  request: ApprovalRequest,
): Promise<ReadonlySet<string>> {
  const last = events.findLast(isAsking)
  return last === undefined ? new Set() : quietInChat(deps, request, last.created_at)
}

/** Finds those for whom the key was silenced at that time, and those who chose to hear nothing of such requests in chat. */
async function quietInChat(deps: FlowDeps, request: ApprovalRequest, at: Date): Promise<ReadonlySet<string>> {
  const silenced = await quietPeople(deps, request, at)
  const account = await deps.accounts.find(request.account_id)
  const people = await deps.users.findMany(await approversToNotify(deps, request))
  const deaf = people.filter((person) => tells(volumesOf(person, account).chat, request) === 'never')
  return new Set([...silenced.keys(), ...deaf.map(({ id }) => id)])
}

interface About {
  entry: RequestEntry
  request: ApprovalRequest
}

function newsOf({ entry, request }: About, at: Date): CardNews {
  const version = isShown(entry) ? { version: request.version } : {}
  return { request_id: request.id, ...version, replies: repliesOf(entry, request.notify !== undefined), at }
}

/**
 * Turns the news of a request into news of its batch. Its card says that all are over, once unless others join, and not if nobody
 * decided any of them; it is reminded of where one joined late: an edit notifies no one.
 */
function newsOfBatch({ entry, request, batch }: About & { batch: CardBatch }, at: Date): CardNews {
  const { id: request_id, version, status, members } = batch
  const isTold = status === 'over' && members.some(({ decision }) => decision !== undefined)
  const replies = repliesOf(entry, true).flatMap((reply): CardNews['replies'] => {
    const { id, kind, at: created_at } = reply
    if (kind === 'reminder') return [{ ...reply, id: reminderId(batch, { id, created_at }) }]
    return isTold ? [{ ...reply, id: `${batch.id}:over:${members.length}` }] : []
  })
  const made = entry.events.filter(({ type }) => type === 'approval.created')
  const late = lateId(request, batch)
  const joined =
    late === undefined
      ? []
      : made.map((event) => ({ id: late, kind: 'reminder' as const, at: event.created_at }))
  const changed = isShown(entry) || made.length > 0
  return { request_id, ...(changed ? { version } : {}), replies: [...replies, ...joined], at }
}

/** Joins the news of each subject: fifty requests of one call are one change of their card. */
function joinNews(all: readonly (CardNews & { unreminded: string[] })[]): CardNews[] {
  const joined = new Map<string, CardNews & { unreminded: string[] }>()
  for (const news of all) {
    const before = joined.get(news.request_id)
    const replies = [...(before?.replies ?? []), ...news.replies]
    const unreminded = [...new Set([...(before?.unreminded ?? []), ...news.unreminded])]
    joined.set(news.request_id, { ...before, ...news, replies, unreminded })
  }
  return [...joined.values()]
}

function asks({ events }: RequestEntry): boolean {
  return events.some(isAsking)
}

function isAsking({ type }: OutboxEvent): boolean {
  return type === 'approval.created' || type === 'approval.reminded'
}

function isShown({ audit }: RequestEntry): boolean {
  return audit.some(({ type }) => SHOWN.has(type))
}

/** @param told the request names where its outcome goes: there it is also said aloud that it expired or was withdrawn */
function repliesOf({ events }: RequestEntry, told: boolean): CardNews['replies'] {
  return events.flatMap((event): CardNews['replies'] => {
    if (DECIDED.has(event.type) || (told && event.type === 'approval.expired'))
      return [{ id: event.id, kind: 'decided', at: event.created_at }]
    if (event.type !== 'approval.reminded') return []
    const reminder = { id: event.id, kind: 'reminder', at: event.created_at } as const
    return [isAutomatic(event) ? { ...reminder, automatic: true } : reminder]
  })
}

const DECIDED: ReadonlySet<OutboxEvent['type']> = new Set(['approval.approved', 'approval.rejected'])

function isAutomatic({ body }: OutboxEvent): boolean {
  return JSON.parse(body).data?.automatic === true
}

/**
 * Does the same as `followCards` for bootstraps: a card for the account's owner on every platform that serves the account,
 * never for a channel, and none for decoys. May be repeated or interrupted anywhere.
 * @returns whether there may be cards to send
 */
export async function followConsents(
  deps: FlowDeps,
  entries: readonly Pick<OutboxEntry, 'id' | 'account_id' | 'audit'>[],
): Promise<boolean> {
  if (deps.chats.length === 0) return false
  const telling = entries.filter(({ id, account_id }) => isId('bst', id) && account_id !== undefined)
  const found = await Promise.all(telling.map(({ id }) => deps.bootstraps.find(id)))
  const about = found.filter((bootstrap) => bootstrap !== undefined)
  if (about.length === 0) return false
  const at = deps.clock.now()
  const asked = about.filter((bootstrap) => isWaiting(bootstrap, at))
  const cards = await Promise.all(asked.map((bootstrap) => cardsOf(deps, bootstrap)))
  await deps.cards.insertNew(cards.flat())
  // A new card shows version 1 by itself.
  const news = about.filter(({ version }) => version > 1)
  await deps.cards.follow(news.map(({ id, version }) => ({ request_id: id, version, replies: [], at })))
  return true
}

async function cardsOf(deps: FlowDeps, bootstrap: Bootstrap): Promise<Card[]> {
  const { id, version, account_id } = bootstrap
  const account = account_id === undefined ? undefined : await deps.accounts.find(account_id)
  if (account === undefined) return []
  const owner = { kind: 'approver', user_id: account.owner_id } as const
  const served = await servedBy(deps, account.id)
  return served.map(({ platform }) => newCard(deps, { id, version, account_id: account.id }, platform, owner))
}

/**
 * Tells every chat identity of a person about each change of their factors and rights (T34): an attacker who took over one
 * identity, or the session, cannot hide the change from the others. May be repeated or interrupted anywhere: a message is
 * unique per entry and identity. Identities that were linked later get nothing about earlier changes.
 * @returns whether there may be cards to send
 */
export async function followNotices(
  deps: FlowDeps,
  entries: readonly Pick<OutboxEntry, 'audit'>[],
): Promise<boolean> {
  if (deps.chats.length === 0) return false
  const notices = entries.flatMap(({ audit }) => noticesIn(audit))
  if (notices.length === 0) return false
  const platforms = new Set(deps.chats.map(({ platform }) => platform))
  const found = await deps.users.findMany(notices.map(({ user_id }) => user_id))
  const people = new Map(found.map((person) => [person.id, person]))
  const cards = notices.flatMap(({ user_id, event_id, notice, unheard }) => {
    const person = people.get(user_id)
    if (person === undefined) return []
    const told = person.chat.filter(
      ({ platform, linked_at }) => platforms.has(platform) && platform !== unheard && linked_at <= notice.at,
    )
    const about = { id: event_id, account_id: person.account_id, version: 1 }
    return told.map(({ platform, tenant, user }) => ({
      ...newCard(deps, about, platform, { kind: 'identity', user_id, tenant, user }),
      notice,
    }))
  })
  await deps.cards.insertNew(cards)
  return cards.length > 0
}

/** A request with the approvers who hear nothing of it in chat: they get no card. */
interface Asked {
  request: ApprovalRequest
  batch?: CardBatch
  quiet: ReadonlySet<string>
}

/**
 * Makes the cards of new requests: on every platform that serves the account, one for each approver, one for each delegate who
 * currently stands in for one, and one for each channel of the account. Calls no platform: a person's address is found when
 * the card is posted.
 */
async function addressCards(deps: FlowDeps, all: readonly Asked[]): Promise<Card[]> {
  // The others of a batch would make the same cards, unless somebody has voted on them.
  const asked = all.filter(
    ({ request, batch }, index) =>
      batch === undefined ||
      request.votes.length > 0 ||
      index === all.findIndex((one) => one.batch === batch && one.request.votes.length === 0),
  )
  const accounts = [...new Set(asked.map(({ request }) => request.account_id))]
  const served = new Map(
    await Promise.all(accounts.map(async (id) => [id, await servedBy(deps, id)] as const)),
  )
  const cards = asked.map(async ({ request, batch, quiet }) => {
    const platforms = served.get(request.account_id) ?? []
    if (platforms.length === 0) return []
    const people = (await approversToNotify(deps, request)).filter((id) => !quiet.has(id))
    const approvers = people.map((user_id) => ({ kind: 'approver' as const, user_id }))
    return platforms.flatMap(({ platform, channels }) =>
      [...approvers, ...channels].map((recipient) => newCard(deps, batch ?? request, platform, recipient)),
    )
  })
  return (await Promise.all(cards)).flat()
}

/** Returns all approvers named and the delegates that the request waits for. */
async function approversToNotify(deps: FlowDeps, request: ApprovalRequest): Promise<string[]> {
  const named = request.requirement.approvers.map(({ user_id }) => user_id)
  return [...new Set([...named, ...(await pendingApprovers(deps, request, deps.clock.now()))])]
}

/** Returns the platforms that serve the account, with its channels there. */
async function servedBy(deps: FlowDeps, accountId: string) {
  const served = (await servedTo(deps, accountId)).filter(({ tenants }) => tenants.length > 0)
  const account = served.length === 0 ? undefined : await deps.accounts.find(accountId)
  return served.map(({ platform }) => ({
    platform,
    channels: (account?.channels ?? [])
      .filter((one) => one.platform === platform && serves(served, platform, one.tenant))
      .map(({ tenant, channel }) => ({ kind: 'channel' as const, tenant, channel })),
  }))
}

/** Makes a card that is not posted yet. */
function newCard(
  deps: FlowDeps,
  request: Pick<ApprovalRequest, 'id' | 'account_id' | 'version'>,
  platform: ChatPlatform,
  recipient: CardRecipient,
): Card {
  return {
    id: drawId(deps, 'crd'),
    account_id: request.account_id,
    request_id: request.id,
    platform,
    recipient,
    wanted: request.version,
    shown: 0,
    replies: [],
    news: 0,
    ...dueNow(deps.clock.now()),
  }
}

import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { isTarget } from '../../domain/notify.ts'
import { type ApprovalRequest, cardSubjectOf } from '../../domain/request.ts'
import type { ListedWebhook, LoggedCard, LoggedPush } from '../../domain/views.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import type { ListPosition } from '../../store/mongo/filters.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import type { Owner } from '../people/accounts.ts'
import { quietPeople } from '../requests/attention.ts'
import { findReadableRequest } from '../requests/read-request.ts'
import { findOwnWebhook, ownerAudit } from './manage-webhooks.ts'

/** A page of a delivery log, newest first; `more` tells whether another follows. */
export interface DeliveryPage {
  deliveries: Delivery[]
  more: boolean
}

/** The log of a request with its cards in chat; every page carries all cards, since there are few. */
export interface RequestLog extends DeliveryPage {
  cards: LoggedCard[]
  pushes: LoggedPush[]
  /** Approvers who were not notified of the request because they had just rejected several of this key's requests. */
  quiet: { approver: string; until: Date }[]
}

export interface PageQuery {
  limit: number
  before?: ListPosition
}

/** The filters of a log. */
type LogFilter = Partial<Pick<Delivery, 'state' | 'event_type'>>

/** Reads the log of a webhook, also after its deletion. @throws Refusal `not_found` */
export async function readWebhookLog(
  deps: FlowDeps,
  accountId: string,
  id: string,
  { limit, before, ...filter }: PageQuery & LogFilter,
): Promise<DeliveryPage> {
  await findOwnWebhook(deps, accountId, id)
  const page = { limit, ...(before && { before }) }
  return readPage(deps, { account_id: accountId, webhook_id: id, ...filter }, page)
}

/** Reads the deliveries that were given up and not replayed since: callbacks of requests and events for webhooks. */
export async function readDeadLetters(
  deps: FlowDeps,
  accountId: string,
  page: PageQuery,
): Promise<DeliveryPage> {
  return readPage(deps, { account_id: accountId, given_up: true }, page)
}

/** Lists the webhooks of an account that are not deleted, oldest first. */
export async function listWebhooks(deps: FlowDeps, accountId: string): Promise<ListedWebhook[]> {
  const webhooks = await deps.webhooks.list(accountId)
  return Promise.all(webhooks.map((webhook) => withLast(deps, webhook)))
}

/** Reads a webhook, also after its deletion. @throws Refusal `not_found` */
export async function readWebhook(deps: FlowDeps, accountId: string, id: string): Promise<ListedWebhook> {
  return withLast(deps, await findOwnWebhook(deps, accountId, id))
}

async function withLast(deps: FlowDeps, webhook: Webhook): Promise<ListedWebhook> {
  const newest = { account_id: webhook.account_id, webhook_id: webhook.id, limit: 1 }
  const [last] = await deps.deliveries.list(newest)
  return last === undefined ? { webhook } : { webhook, last }
}

/** Reads, for the account's owner, all that was sent about a request: callback, webhooks, chat. @throws Refusal `not_found` */
export async function readRequestLog(
  deps: FlowDeps,
  accountId: string,
  id: string,
  page: PageQuery,
): Promise<RequestLog> {
  const request = isId('req', id) ? await deps.requests.find(id) : undefined
  if (request?.account_id !== accountId) throw refusal('not_found')
  const deliveries = await readPage(deps, { account_id: accountId, request_id: id }, page)
  return { ...deliveries, ...(await readTold(deps, request)) }
}

/**
 * Reads, for a caller that may read the request, its callback and its cards in chat, so that a program can tell when no person
 * was reached. Webhooks are shown to the owner only.
 * @throws Refusal `not_found`
 */
export async function readCallbackLog(deps: FlowDeps, caller: Caller, id: string): Promise<RequestLog> {
  const request = await findReadableRequest(deps, caller, id)
  const { callback } = request
  const delivery = callback && (await deps.deliveries.find(callback.delivery_id))
  const deliveries = delivery === undefined ? [] : [delivery]
  return { deliveries, more: false, ...(await readTold(deps, request)) }
}

/** Reads how people were told of the request. */
async function readTold(
  deps: FlowDeps,
  request: ApprovalRequest,
): Promise<Pick<RequestLog, 'cards' | 'pushes' | 'quiet'>> {
  const [cards, pushes, quiet] = await Promise.all([
    readCards(deps, request),
    readPushes(deps, request),
    readQuiet(deps, request),
  ])
  return { cards, pushes, quiet }
}

async function readPushes({ pushes }: FlowDeps, request: ApprovalRequest): Promise<LoggedPush[]> {
  if (request.sandbox) return []
  const references = referencesOf(request)
  return (await pushes.ofSubjects([request.id, cardSubjectOf(request)])).map((push) => {
    return { push, ...given({ approver: references.get(push.user_id) }) }
  })
}

function referencesOf({ requirement: { approvers } }: ApprovalRequest): Map<string, string> {
  return new Map(approvers.map(({ user_id, approver }) => [user_id, approver]))
}

async function readQuiet(deps: FlowDeps, request: ApprovalRequest): Promise<RequestLog['quiet']> {
  if (request.sandbox) return []
  const quiet = await quietPeople(deps, request, request.created_at)
  return request.requirement.approvers.flatMap(({ user_id, approver }) => {
    const until = quiet.get(user_id)
    return until === undefined ? [] : [{ approver, until }]
  })
}

/** Reads the cards of a request. Sandbox requests have none, and without a chat platform there are none to look for. */
async function readCards(deps: FlowDeps, request: ApprovalRequest): Promise<LoggedCard[]> {
  if (request.sandbox || deps.chats.length === 0) return []
  const references = referencesOf(request)
  return (await deps.cards.ofRequest(cardSubjectOf(request))).map((card) => {
    const { recipient } = card
    const approver = recipient.kind === 'approver' ? references.get(recipient.user_id) : undefined
    if (approver !== undefined) return { card, approver }
    return isTarget(request.notify, card) ? { card, told: true } : { card }
  })
}

async function readPage(
  deps: FlowDeps,
  which: LogFilter & { account_id: string; webhook_id?: string; request_id?: string; given_up?: true },
  { limit, before }: PageQuery,
): Promise<DeliveryPage> {
  const query = { ...which, limit: limit + 1, ...(before && { before }) }
  const found = await deps.deliveries.list(query)
  return { deliveries: found.slice(0, limit), more: found.length > limit }
}

/**
 * Replays a delivery that is delivered, given up or dropped: same event id, same bytes, a new round of tries.
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55), `delivery_in_progress`, `webhook_gone`
 */
export async function replayDelivery(deps: FlowDeps, owner: Owner, id: string): Promise<Delivery> {
  const found = isId('dlv', id) ? await deps.deliveries.find(id) : undefined
  if (found?.account_id !== owner.accountId) throw refusal('not_found')
  if (found.state === 'due' || found.state === 'leased') throw refusal('delivery_in_progress')
  if (!(await isWanted(deps, found))) throw refusal('webhook_gone')
  const at = deps.clock.now()
  const audit = ownerAudit(deps, 'delivery.replayed', owner, id, at)
  const replayed = await deps.deliveries.replay(id, owner.accountId, at, audit)
  if (replayed === undefined) throw refusal('delivery_in_progress')
  return replayed
}

/** Checks whether the target still wants it: a callback always does; a webhook may have been deleted or disabled since. */
async function isWanted(deps: FlowDeps, { target }: Delivery): Promise<boolean> {
  if (target.kind === 'callback') return true
  return (await deps.webhooks.find(target.webhook_id))?.state === 'active'
}

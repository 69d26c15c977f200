import { type Account, may, roleIn } from '../../domain/account.ts'
import type { Bootstrap } from '../../domain/bootstrap.ts'
import {
  type BatchView,
  type CardView,
  type ConsentView,
  isKind,
  type ReplyView,
} from '../../domain/card-view.ts'
import type { Card, CardReply } from '../../domain/chat.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { isTarget } from '../../domain/notify.ts'
import type { Precedents } from '../../domain/precedents.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { partsIn } from '../people/delegates.ts'
import { findPrecedents } from '../requests/find-precedents.ts'
import { type CardBatch, findBatches } from './card-batch.ts'
import { tellsOutcome } from './tell-requester.ts'
import { viewBatch, viewCard, viewConsent } from './view-card.ts'

/** The subject of a card. */
export type CardSubject = ApprovalRequest | CardBatch | Bootstrap

/** What a card shows of the request in its stored state. */
export interface Showing {
  request: CardSubject
  /** The person whose card it is; undefined for a channel and for a person who is gone. */
  person: User | undefined
  view: CardView | BatchView | ConsentView
  /** The card tells the outcome aloud, and is posted for that if it was not before. */
  tells?: boolean
}

/** Checks whether an approver's card belongs to a person who is gone or whom the request no longer concerns. */
export function isOthers({ recipient }: Pick<Card, 'recipient'>, { view, tells }: Showing): boolean {
  return !tells && recipient.kind === 'approver' && !isKind(view, 'consent') && view.audience === 'channel'
}

/** Finds the request, the batch of requests, or an agent's request for a key. */
export async function findSubject(
  deps: FlowDeps,
  { request_id }: Pick<Card, 'request_id'>,
): Promise<CardSubject | undefined> {
  if (isId('bst', request_id)) return deps.bootstraps.find(request_id)
  if (isId('bat', request_id)) return (await findBatches(deps, [request_id])).get(request_id)
  return deps.requests.find(request_id)
}

const NO_PAGE = { no_page: true } as const

/** What one reader's card shows of one request. */
type Shown = { view: CardView; tells: boolean }

/**
 * Reads the people named on the card and draws the requests, which have the same approvers. A person whom a request no longer
 * concerns, because they stand in for no approver named in it, sees no more than a channel does.
 */
async function drawRequests(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  requests: readonly ApprovalRequest[],
): Promise<{ person: User | undefined; shown: Shown[] }> {
  const { recipient } = card
  const person = recipient.kind === 'approver' ? await deps.users.find(recipient.user_id) : undefined
  const parts = person === undefined ? [] : await partsIn(deps, person, requests)
  const isAccounts =
    recipient.kind === 'channel' ||
    requests.some(({ notify }) => notify !== undefined && isTarget(notify, card))
  const [first] = requests
  const account = isAccounts && first !== undefined ? await deps.accounts.find(first.account_id) : undefined
  const readers = await Promise.all(
    requests.map(async (request, index) => {
      const tells = await tellsOutcome(deps, card, request, { account, person })
      const part = parts[index]
      const mayRead = part !== undefined || (tells && person !== undefined && readsAll(account, person))
      // A person whom the request no longer concerns is not shown the names that the account allows its channels.
      const namesInChannels = (recipient.kind === 'channel' || tells) && account?.names_in_channels
      // Of one request alone: a line says too little of a request to compare it with others.
      const asks = requests.length === 1 && part !== undefined && request.status === 'pending'
      const precedents = asks && person ? await precedentsOf(deps, request, person.id) : undefined
      return { request, tells, part, mayRead, namesInChannels, precedents }
    }),
  )
  const named = readers.flatMap(({ request, part, mayRead, namesInChannels }) => [
    ...request.votes.flatMap(({ user_id, on_behalf_of }) => [user_id, on_behalf_of]),
    ...(part?.principalId === undefined ? [] : [part.principalId]),
    ...(!mayRead && !namesInChannels ? [] : othersAsked(request)),
  ])
  const people = await deps.users.findMany([...new Set(named)])
  const names = new Map(people.map(({ id, name }) => [id, name]))
  const shown = readers.map(({ request, tells, part, mayRead, namesInChannels, precedents }) => {
    const view = viewCard(request, {
      precedents,
      ...(mayRead ? { audience: 'approver', personId: person?.id } : { audience: 'channel' }),
      principalId: part?.principalId,
      names,
      namesInChannels,
      baseUrl: deps.settings.baseUrl,
    })
    if (!tells) return { tells, view }
    return { tells, view: { ...view, told: true as const, ...(person && !mayRead ? NO_PAGE : {}) } }
  })
  return { person, shown }
}

/** Draws the card of a request for its recipient. */
export async function showCard(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  request: ApprovalRequest,
): Promise<Showing & { view: CardView }> {
  const { person, shown } = await drawRequests(deps, card, [request])
  const [one] = shown
  if (one === undefined) throw new Error('nothing was drawn')
  return { request, person, view: one.view, ...(one.tells ? { tells: true } : {}) }
}

/** The card is complete without them: a failing look must not hold it up. */
async function precedentsOf(
  deps: FlowDeps,
  request: ApprovalRequest,
  personId: string,
): Promise<Precedents | undefined> {
  try {
    return await findPrecedents(deps, request, personId, await deps.accounts.find(request.account_id))
  } catch (error) {
    deps.log.debug({ error, request_id: request.id }, 'looking for earlier requests of a kind failed')
    return undefined
  }
}

function readsAll(account: Account | undefined, person: User): boolean {
  return account !== undefined && may(roleIn(account, person.id), 'read_all')
}

/** Returns the approvers if there is more than one; a single approver knows who is asked. */
function othersAsked({ requirement: { approvers } }: ApprovalRequest): string[] {
  return approvers.length > 1 ? approvers.map(({ user_id }) => user_id) : []
}

/** Does the same for a batch. */
export async function showBatch(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  batch: CardBatch,
): Promise<Showing & { view: BatchView }> {
  const { person, shown } = await drawRequests(deps, card, batch.members)
  const views = shown.map(({ view }) => view)
  return { request: batch, person, view: viewBatch(batch, views, deps.settings.baseUrl) }
}

/** Does the same as `showCard` for any subject. */
export async function showSubject(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  subject: CardSubject,
): Promise<Showing> {
  if ('members' in subject) return showBatch(deps, card, subject)
  if (!('client_name' in subject)) return showCard(deps, card, subject)
  const { recipient } = card
  const person = recipient.kind === 'approver' ? await deps.users.find(recipient.user_id) : undefined
  return { request: subject, person, view: viewConsent(subject, deps.settings.baseUrl) }
}

/** Checks whether no person is asked any more. A lapsed request counts, although its expiry may not be written yet (T75). */
export function isOver(
  { status, expires_at }: Pick<CardSubject, 'status' | 'expires_at'>,
  now: Date,
): boolean {
  return status !== 'pending' || expires_at <= now
}

/** Milliseconds for which a reply tells of a decision; later only the card shows it. */
const TELLING_MS = 86_400_000

/**
 * Draws a reply under the card. @returns undefined when it is no longer needed: decided, expired, already voted, or for a
 * person whom the request no longer concerns
 */
export function showReply(
  { request, person, view, tells }: Showing,
  reply: CardReply,
  now: Date,
): ReplyView | undefined {
  if (isKind(view, 'consent')) return undefined
  if (person !== undefined && view.audience === 'channel' && !tells) return undefined
  if (isKind(view, 'batch')) return showBatchReply(request, view, reply, now)
  const { request_id, audience, action, requested_by, links, status } = view
  const { hidden_characters, two_directions, look_alike } = view
  const warnings = { hidden_characters, ...given({ two_directions, look_alike }) }
  const about = { request_id, audience, action, requested_by, ...warnings, details: links.details }
  if (reply.kind === 'decided') {
    if (now.getTime() - reply.at.getTime() > TELLING_MS) return undefined
    switch (status.kind) {
      case 'pending':
        return undefined
      case 'approved':
      case 'rejected':
        return { kind: 'decided', status: { ...status, kind: status.kind }, ...about }
      default:
        return tells ? { kind: 'ended', status, expires_at: view.expires_at, ...about } : undefined
    }
  }
  if (isOver(request, now) || view.voted !== undefined) return undefined
  return { kind: 'reminder', expires_at: view.expires_at, automatic: reply.automatic === true, ...about }
}

function showBatchReply(
  request: CardSubject,
  batch: BatchView,
  { kind, at, automatic }: CardReply,
  now: Date,
): ReplyView | undefined {
  const waits = batch.items.some(({ status, voted }) => status.kind === 'pending' && voted === undefined)
  const isTold =
    kind === 'reminder'
      ? waits && !isOver(request, now)
      : batch.status.kind === 'over' && now.getTime() - at.getTime() <= TELLING_MS
  if (!isTold) return undefined
  return { kind: 'batch', request_id: batch.request_id, batch, automatic: automatic === true }
}

import { type Account, may, roleIn } from '../../domain/account.ts'
import type { Bootstrap } from '../../domain/bootstrap.ts'
import type { CardView, ReplyView } from '../../domain/card-view.ts'
import { type ConsentView, isKind } from '../../domain/card-view.ts'
import type { Card, CardReply } from '../../domain/chat.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { isTarget } from '../../domain/notify.ts'
import type { Precedents } from '../../domain/precedents.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { partIn } from '../people/delegates.ts'
import { findPrecedents } from '../requests/find-precedents.ts'
import { tellsOutcome } from './tell-requester.ts'
import { viewCard, viewConsent } from './view-card.ts'

/** The subject of a card. */
export type CardSubject = ApprovalRequest | Bootstrap

/** What a card shows of the request in its stored state. */
export interface Showing {
  request: CardSubject
  /** The person whose card it is; undefined for a channel and for a person who is gone. */
  person: User | undefined
  view: CardView | ConsentView
  /** The card tells the outcome aloud, and is posted for that if it was not before. */
  tells?: boolean
}

/** Checks whether an approver's card belongs to a person who is gone or whom the request no longer concerns. */
export function isOthers({ recipient }: Pick<Card, 'recipient'>, { view, tells }: Showing): boolean {
  return !tells && recipient.kind === 'approver' && !isKind(view, 'consent') && view.audience === 'channel'
}

/** Finds the request, or an agent's request for a key. */
export async function findSubject(
  { requests, bootstraps }: FlowDeps,
  { request_id }: Pick<Card, 'request_id'>,
): Promise<CardSubject | undefined> {
  return isId('bst', request_id) ? bootstraps.find(request_id) : requests.find(request_id)
}

/**
 * Reads the people named on the card and draws it. A person whom the request no longer concerns, because they stand in for no
 * approver named in it, sees no more than a channel does.
 */
export async function showCard(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  request: ApprovalRequest,
): Promise<Showing & { view: CardView }> {
  const { recipient } = card
  const person = recipient.kind === 'approver' ? await deps.users.find(recipient.user_id) : undefined
  const part = person === undefined ? undefined : await partIn(deps, person, request)
  const isAccounts = recipient.kind === 'channel' || isTarget(request.notify, card)
  const account = isAccounts ? await deps.accounts.find(request.account_id) : undefined
  const tells = await tellsOutcome(deps, card, request, { account, person })
  const mayRead = part !== undefined || (tells && person !== undefined && readsAll(account, person))
  // A person whom the request no longer concerns is not shown the names that the account allows its channels.
  const namesInChannels = (recipient.kind === 'channel' || tells) && account?.names_in_channels
  const voters = request.votes.flatMap(({ user_id, on_behalf_of }) => [user_id, on_behalf_of])
  const asked = !mayRead && !namesInChannels ? [] : othersAsked(request)
  const principal = part?.principalId === undefined ? [] : [part.principalId]
  const people = await deps.users.findMany([...voters, ...principal, ...asked])
  const asks = part !== undefined && person !== undefined && request.status === 'pending'
  const view = viewCard(request, {
    precedents: asks ? await precedentsOf(deps, request, person.id) : undefined,
    ...(mayRead ? { audience: 'approver', personId: person?.id } : { audience: 'channel' }),
    principalId: part?.principalId,
    names: new Map(people.map(({ id, name }) => [id, name])),
    namesInChannels,
    baseUrl: deps.settings.baseUrl,
  })
  if (!tells) return { request, person, view }
  return {
    request,
    person,
    view: { ...view, told: true, ...(person && !mayRead && { no_page: true }) },
    tells,
  }
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

/** Does the same as `showCard` for any subject. */
export async function showSubject(
  deps: FlowDeps,
  card: Pick<Card, 'platform' | 'recipient'>,
  subject: CardSubject,
): Promise<Showing> {
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

import { notReachable } from '../domain/chat-retry.ts'
import { isNamed, methodsFor, whyNot } from '../domain/eligibility.ts'
import { refusal } from '../domain/errors.ts'
import { isId } from '../domain/identifier.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import { factorsOf, type User } from '../domain/user.ts'
import type { FlowDeps } from './deps.ts'
import type { ListPosition } from './ports.ts'
import { settleRequest } from './settle-request.ts'

type ReviewDeps = Pick<
  FlowDeps,
  'requests' | 'accounts' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'
>

/** A request as one signed-in person may see it, with what they may do about it. */
export interface Review {
  request: ApprovalRequest
  /** Only for those named as approvers. */
  mayDecide: boolean
  /** Code of the first check that fails. */
  whyNot?: string
  methods: ('passkey' | 'totp')[]
  /** References of approvers to whom no chat platform could take a message; only while it is pending. */
  notReachable: string[]
  serverTime: Date
}

/**
 * The request for one of its approvers, or for the account's owner, up to date.
 * @throws Refusal `not_found` to everybody else, as for unknown ids
 */
export async function reviewRequest(
  deps: ReviewDeps & Pick<FlowDeps, 'cards' | 'chats'>,
  person: User,
  id: string,
): Promise<Review> {
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  if (found === undefined || !(await maySee(deps, person, found))) throw refusal('not_found')
  const request = await settleRequest(deps, found)
  const decider = { user_id: person.id, ...factorsOf(person) }
  const refused = whyNot(request, decider)
  return {
    request,
    mayDecide: refused === undefined,
    ...(refused === undefined ? {} : { whyNot: refused.code }),
    methods: isNamed(request, person.id) ? methodsFor(request, decider) : [],
    notReachable: await whomNobodyReached(deps, request),
    serverTime: deps.clock.now(),
  }
}

async function whomNobodyReached(
  deps: Pick<FlowDeps, 'cards' | 'chats'>,
  request: ApprovalRequest,
): Promise<string[]> {
  if (deps.chats.length === 0 || request.status !== 'pending') return []
  const lost = new Set(notReachable(await deps.cards.ofRequest(request.id)))
  return request.requirement.approvers
    .filter(({ user_id }) => lost.has(user_id))
    .map(({ approver }) => approver)
}

/** The request for somebody who wants to decide on it. @throws Refusal `not_found` unless they are named in it */
export async function readForApprover(deps: ReviewDeps, person: User, id: string): Promise<ApprovalRequest> {
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  if (found === undefined || !isNamed(found, person.id)) throw refusal('not_found')
  return settleRequest(deps, found)
}

/** What waits for a person, one page of it. */
interface PendingPage {
  requests: ApprovalRequest[]
  /** Where the next page begins; undefined on the last one. */
  next: ListPosition | undefined
}

/**
 * Pending requests that wait for this person, oldest first: neither dry-runs nor those that have this person's vote. A page
 * can hold fewer than `limit` and not be the last one: a request can lapse while it is read.
 */
export async function pendingForPerson(
  deps: ReviewDeps,
  person: User,
  query: { limit: number; after?: ListPosition },
): Promise<PendingPage> {
  const found = await deps.requests.pendingFor(person.id, query.limit + 1, query.after)
  const page = found.slice(0, query.limit)
  const settled = await Promise.all(page.map((request) => settleRequest(deps, request)))
  return {
    requests: settled.filter((request) => request.status === 'pending'),
    next: found.length > page.length ? page.at(-1) : undefined,
  }
}

async function maySee(deps: ReviewDeps, person: User, request: ApprovalRequest): Promise<boolean> {
  if (isNamed(request, person.id)) return true
  const account = await deps.accounts.find(request.account_id)
  return account?.owner_id === person.id
}

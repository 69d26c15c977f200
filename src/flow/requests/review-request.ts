import { may, roleIn } from '../../domain/account.ts'
import { notReachable } from '../../domain/card-standing.ts'
import { type Decider, hasActed, methodsFor, whoseVote, whyNot } from '../../domain/eligibility.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { kindOf } from '../../domain/likeness.ts'
import { type ApprovalRequest, cardSubjectOf, usableUntil } from '../../domain/request.ts'
import { isHeldBy } from '../../domain/restore.ts'
import { factorsOf, isVouchedFor, type User } from '../../domain/user.ts'
import type { Principal, Review, Waiting } from '../../domain/views.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { EndPosition } from '../../store/mongo/filters.ts'
import type { FlowDeps } from '../deps.ts'
import { deciderFor, inboxScopeOf } from '../people/delegates.ts'
import { comesFromAsker } from './decide.ts'
import { nameTarget } from './notify-target.ts'
import { settleRequest } from './settle-request.ts'

/**
 * Returns the request, up to date, to people who are named in it, stand in for one of those, or voted on it, and to the
 * account's owner and auditors.
 * @throws Refusal `not_found` for all other people, as for unknown ids
 */
export async function reviewRequest(
  deps: FlowDeps,
  person: User,
  id: string,
  address: string,
): Promise<Review> {
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  if (found === undefined) throw refusal('not_found')
  const decider = await deciderFor(deps, person, found)
  const concerned = whyNot(found, decider)?.code !== 'not_found'
  if (!concerned && !(await mayRead(deps, person, found))) throw refusal('not_found')
  const request = await settleRequest(deps, found)
  const refused = whyNot(request, decider)
  const onBehalfOf = await principalOf(deps, request, decider)
  const told = await nameTarget(deps, request)
  return {
    request,
    mayDecide: refused === undefined,
    ...(refused === undefined ? {} : { whyNot: refused.code }),
    methods: concerned ? methodsFor(request, decider) : [],
    ...given({ onBehalfOf, told, held: isOpen(request, deps.clock.now()) ? decider.held : undefined }),
    notReachable: await approversNotReached(deps, request),
    keyRevoked: (await askedByRevoked(deps, [request])).has(request.id),
    sameAddress: request.status === 'pending' && comesFromAsker(request, address),
    serverTime: deps.clock.now(),
  }
}

/** Checks whether it can be decided or, once approved, be used. */
function isOpen(request: ApprovalRequest, now: Date): boolean {
  const { status, consumed_at } = request
  if (status !== 'approved') return status === 'pending'
  return consumed_at === undefined && now < (usableUntil(request) ?? Infinity)
}

/**
 * Notes, for the request's timeline, that a person who is asked has it on their screen for the first time while it is pending.
 * No answer waits for the note: a page is shown whether or not it could be written.
 */
export function noteSeen(
  { requests, clock, log }: FlowDeps,
  { approver }: Pick<User, 'approver'>,
  { request: { id, status, sandbox, seen = [] }, whyNot }: Pick<Review, 'request' | 'whyNot'>,
): void {
  const isAsked = status === 'pending' && !sandbox && whyNot !== 'not_found'
  if (!isAsked || seen.some((one) => one.approver === approver)) return
  requests.noteSeen(id, { approver, at: clock.now() }).catch((error: unknown) => {
    log.debug({ error, request_id: id }, 'recording the first view of a request failed')
  })
}

async function principalOf(
  deps: FlowDeps,
  request: ApprovalRequest,
  decider: Decider,
): Promise<Principal | undefined> {
  const whose = whoseVote(request, decider)
  if (whose === undefined || whose.user_id === decider.user_id) return undefined
  return { name: (await deps.users.find(whose.user_id))?.name ?? '', approver: whose.approver }
}

/** Finds, in one query, the ids of those requests that are pending and whose key has been revoked since. */
async function askedByRevoked(
  { apiKeys }: FlowDeps,
  requests: readonly ApprovalRequest[],
): Promise<ReadonlySet<string>> {
  const pending = requests.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return new Set()
  const revoked = new Set(await apiKeys.revokedAmong([...new Set(pending.map((one) => one.api_key_id))]))
  return new Set(pending.filter((one) => revoked.has(one.api_key_id)).map(({ id }) => id))
}

async function approversNotReached(deps: FlowDeps, request: ApprovalRequest): Promise<string[]> {
  if (deps.chats.length === 0 || request.status !== 'pending') return []
  const lost = new Set(notReachable(await deps.cards.ofRequest(cardSubjectOf(request))))
  return request.requirement.approvers
    .filter(({ user_id }) => lost.has(user_id))
    .map(({ approver }) => approver)
}

/** One page of the requests that wait for a person. */
interface PendingPage {
  waiting: Waiting[]
  /** Where the next page begins; undefined on the last one. */
  next: EndPosition | undefined
}

/**
 * Returns pending requests that wait for this person, or for a person for whom they stand in, the first to end first, without
 * dry-runs and requests that have the vote. A page with fewer than `limit` is not always the last: a request can lapse while
 * it is read.
 */
export async function pendingForPerson(
  deps: FlowDeps,
  person: User,
  query: { limit: number; after?: EndPosition },
): Promise<PendingPage> {
  const who = await inboxScopeOf(deps, person)
  const found = await deps.requests.pendingFor(who, query.limit + 1, query.after)
  const page = found.slice(0, query.limit)
  const settled = await Promise.all(page.map((request) => settleRequest(deps, request)))
  const open = settled.filter((request) => request.status === 'pending')
  const revoked = await askedByRevoked(deps, open)
  const names = new Map((await deps.users.findMany(who.principals)).map(({ id, name }) => [id, name]))
  await deps.restores.isHeld(...open)
  const deciderOf = ({ requirement, ...asked }: ApprovalRequest): Decider => ({
    user_id: person.id,
    ...factorsOf(person, requirement.authenticators),
    stands_in_for: who.principals,
    ...(isHeldBy(asked, deps.restores.last()) ? { held: true } : {}),
    ...(requirement.confirmed_only && !isVouchedFor(person) ? { not_confirmed: true } : {}),
  })
  return {
    waiting: open.map((request) => ({
      ...waitingRow(request, deciderOf(request), names),
      keyRevoked: revoked.has(request.id),
      ...given({ kind: kindMark(request) }),
    })),
    next: found.length > page.length ? page.at(-1) : undefined,
  }
}

/** Says nothing by itself, so that an answer need not repeat what makes requests alike. */
function kindMark(request: ApprovalRequest): string | undefined {
  const kind = kindOf(request)
  return kind && sha256Hex(kind).slice(0, 16)
}

function waitingRow(
  request: ApprovalRequest,
  decider: Decider,
  names: ReadonlyMap<string, string>,
): Omit<Waiting, 'keyRevoked'> {
  const whose = whoseVote(request, decider)
  const other = whose !== undefined && whose.user_id !== decider.user_id
  return {
    request,
    ...given({ held: decider.held }),
    methods: decider.held || (other && decider.not_confirmed) ? [] : methodsFor(request, decider),
    ...(other ? { onBehalfOf: { name: names.get(whose.user_id) ?? '', approver: whose.approver } } : {}),
  }
}

async function mayRead(deps: FlowDeps, person: User, request: ApprovalRequest): Promise<boolean> {
  if (hasActed(request, person.id)) return true
  const account = await deps.accounts.find(request.account_id)
  return account !== undefined && may(roleIn(account, person.id), 'read_all')
}

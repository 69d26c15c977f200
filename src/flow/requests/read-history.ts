import { may, roleIn } from '../../domain/account.ts'
import { invalidField } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { type ApprovalRequest, contextOf, type RequestStatus } from '../../domain/request.ts'
import { foldText, holdsText, LONGEST_LOOK_MS, MOST_LOOKED_AT } from '../../domain/search.ts'
import type { User } from '../../domain/user.ts'
import type { Similar } from '../../domain/views.ts'
import type { ListPosition } from '../../store/mongo/filters.ts'
import type { HistoryFilter, HistoryPage, RequestOutline } from '../../store/requests/request-history.ts'
import type { FlowDeps } from '../deps.ts'
import { accessTo, exportGuard } from '../people/accounts.ts'
import type { SignedIn } from '../people/sessions.ts'
import { findPrecedents } from './find-precedents.ts'
import { reviewRequest } from './review-request.ts'
import { settleRequest } from './settle-request.ts'

/** Requests that a search reads at once. */
const LOOK = 500

/** The conditions of a search, which are tested one request at a time. */
interface Wanted {
  /** A part of the action in any case, or the whole id of a request or decision. */
  q?: string
  high_impact?: boolean
  sandbox?: boolean
}

/** A query on the history of an account. */
export interface HistoryQuery extends Omit<HistoryFilter, 'account_id' | 'id'>, Wanted {
  /** The account's id; without it, the person's own account. */
  account?: string
  limit: number
  before?: ListPosition
}

/**
 * Returns a page of an account's requests, newest first and up to date: for owners and auditors all, for approvers those that
 * name them or on which they voted. A page with fewer than `limit` is not always the last: a request can change while it is
 * read, and a search looks at a limited number, for a limited time; `searchedTo` tells how far back it got.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts, `invalid_field` for another `person_id` than the
 * approver's own
 */
export async function readHistory(
  deps: FlowDeps,
  person: User,
  { account: accountId, q, high_impact, sandbox, ...query }: HistoryQuery,
): Promise<{ requests: ApprovalRequest[]; next: ListPosition | undefined; searchedTo?: Date }> {
  const { account, role } = await accessTo(deps, person, 'read_own', accountId)
  const own = may(role, 'read_all') ? {} : { person_id: person.id }
  if (query.person_id !== undefined && own.person_id !== undefined && query.person_id !== own.person_id)
    throw invalidField('person', 'must be yourself: only owners and auditors see the requests of others')
  const text = q?.trim() ?? ''
  const isWhole = isId('req', text) || isId('dec', text)
  const scope = { ...query, account_id: account.id, ...own, ...(isWhole ? { id: text } : {}) }
  const test = outlineTest(isWhole ? '' : foldText(text), high_impact, sandbox)
  const { found, ...rest } = await (test === undefined ? readPage(deps, scope) : search(deps, scope, test))
  const settled = await Promise.all(found.map((request) => settleRequest(deps, request)))
  return { requests: settled.filter((request) => isStill(request, query.status)), ...rest }
}

/** Requests of an export read at once; no more are held in memory, however long the history is. */
const BATCH = 200

/**
 * Yields everything in the history that matches, newest first, in batches as they are consumed. Before each batch it checks
 * again whether the person may read it.
 * @throws Refusal as `readHistory`; `not_signed_in` when the session ended meanwhile, `unavailable` when the service stops
 */
export async function* exportHistory(
  deps: FlowDeps,
  who: SignedIn,
  query: Omit<HistoryQuery, 'limit' | 'before'>,
): AsyncGenerator<ApprovalRequest[], void, undefined> {
  const goOn = await exportGuard(deps, who, query.account)
  let before: ListPosition | undefined
  for (;;) {
    const page = { ...query, limit: BATCH, ...given({ before }) }
    const { requests, next } = await readHistory(deps, who.user, page)
    if (requests.length > 0) yield requests
    if (next === undefined) return
    before = next
    await goOn()
  }
}

/** Earlier requests of the key among which similar ones are looked for. */
const LOOKED_THROUGH = 50
const SIMILAR = 3

/**
 * Returns the request, the latest ones before it, newest first, that the same key made for the same tool and that this person may
 * see, and what was decided about requests of its kind.
 * @throws Refusal as `reviewRequest`
 */
export async function similarRequests(
  deps: FlowDeps,
  person: User,
  id: string,
  address: string,
): Promise<Similar> {
  const { request } = await reviewRequest(deps, person, id, address)
  const { account_id, api_key_id, sandbox } = request
  const account = await deps.accounts.find(account_id)
  const seesAll = account !== undefined && may(roleIn(account, person.id), 'read_all')
  const [precedents, found] = await Promise.all([
    findPrecedents(deps, request, person.id, account),
    deps.history.page({
      account_id,
      api_key_id,
      ...(seesAll ? {} : { person_id: person.id }),
      before: request,
      limit: LOOKED_THROUGH,
    }),
  ])
  const { tool } = contextOf(request)
  const similar = found.filter((one) => one.sandbox === sandbox && contextOf(one).tool === tool)
  const earlier = await Promise.all(similar.slice(0, SIMILAR).map((one) => settleRequest(deps, one)))
  return { request, earlier, precedents, account }
}

type OutlineTest = (outline: RequestOutline) => boolean

/** @returns undefined when every request passes */
function outlineTest(
  folded: string,
  highImpact: boolean | undefined,
  sandbox: boolean | undefined,
): OutlineTest | undefined {
  if (folded === '' && highImpact === undefined && sandbox === undefined) return undefined
  return (outline) =>
    (highImpact === undefined || outline.high_impact === highImpact) &&
    (sandbox === undefined || outline.sandbox === sandbox) &&
    (folded === '' || holdsText(outline.action, folded))
}

interface Found {
  found: ApprovalRequest[]
  next: ListPosition | undefined
  /** Where a search stopped before it had filled a page. */
  searchedTo?: Date
}

async function readPage(deps: FlowDeps, scope: HistoryPage): Promise<Found> {
  // One more than asked for tells whether there is a next page.
  const found = await deps.history.page({ ...scope, limit: scope.limit + 1 })
  const page = found.slice(0, scope.limit)
  return { found: page, next: found.length > page.length ? page.at(-1) : undefined }
}

/** Looks through outlines, newest first, until a page is full or enough was looked at. */
async function search(deps: FlowDeps, scope: HistoryPage, test: OutlineTest): Promise<Found> {
  const hits: ListPosition[] = []
  let before = scope.before
  let next: ListPosition | undefined
  const end = deps.clock.steady() + LONGEST_LOOK_MS
  for (let looked = 0; looked < MOST_LOOKED_AT; looked += LOOK) {
    const query = { ...scope, limit: LOOK, ...given({ before }) }
    const outlines = await deps.history.outlines(query)
    hits.push(...outlines.filter(test))
    before = outlines.at(-1)
    const done = outlines.length < LOOK
    next = done ? undefined : before
    if (done || hits.length > scope.limit || deps.clock.steady() >= end) break
  }
  const page = hits.slice(0, scope.limit)
  const ids = page.map(({ id }) => id)
  const byId = new Map((await deps.requests.findMany(ids)).map((request) => [request.id, request]))
  const found = ids.flatMap((id) => byId.get(id) ?? [])
  if (hits.length > page.length) return { found, next: page.at(-1) }
  return { found, next, ...(next && { searchedTo: next.created_at }) }
}

/** Checks that a request still has the wanted status: reading it may have decided a dry-run or expired a lapsed request. */
function isStill({ status }: ApprovalRequest, wanted: RequestStatus | undefined): boolean {
  return wanted === undefined || status === wanted
}

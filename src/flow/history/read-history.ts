import { isId } from '../../domain/identifier.ts'
import { may } from '../../domain/permission.ts'
import type { ApprovalRequest, RequestStatus } from '../../domain/request.ts'
import { foldText, holdsText } from '../../domain/search-text.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import type { HistoryFilter, HistoryPage } from '../history-ports.ts'
import { accessTo } from '../people/account-access.ts'
import type { ListPosition } from '../ports.ts'
import { settleRequest } from '../settle-request.ts'

type HistoryDeps = Pick<
  FlowDeps,
  'history' | 'requests' | 'accounts' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'
>

/** Requests read at once, and looked at at most, for one page of a search: a rare word must not cost a whole account. */
const LOOK = 500
const MOST_LOOKED_AT = 20_000

/** What somebody asks of the history of an account. */
export interface HistoryQuery extends Omit<HistoryFilter, 'account_id' | 'person_id' | 'id'> {
  /** Of the account, or the person's own. */
  account?: string
  /** A part of the action in any case, or the whole id of a request or decision. */
  q?: string
  limit: number
  before?: ListPosition
}

/**
 * A page of the requests of an account, newest first and up to date: for owners and auditors all, for approvers those that
 * name them or on which they voted. It can hold fewer than `limit` and not be the last one: a request can change while it is
 * read, and a search looks at so many only.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts
 */
export async function readHistory(
  deps: HistoryDeps,
  person: User,
  { account: wanted, q, ...query }: HistoryQuery,
): Promise<{ requests: ApprovalRequest[]; next: ListPosition | undefined }> {
  const { account, role } = await accessTo(deps, person, 'read_own', wanted)
  const own = may(role, 'read_all') ? {} : { person_id: person.id }
  const scope = { ...query, account_id: account.id, ...own }
  const { found, next } = await findPage(deps, scope, q?.trim() ?? '')
  const settled = await Promise.all(found.map((request) => settleRequest(deps, request)))
  return { requests: settled.filter((request) => isStill(request, query.status)), next }
}

interface Found {
  found: ApprovalRequest[]
  next: ListPosition | undefined
}

async function findPage(deps: HistoryDeps, scope: HistoryPage, q: string): Promise<Found> {
  if (q !== '' && !isId('req', q) && !isId('dec', q)) return search(deps, scope, foldText(q))
  const query = { ...scope, limit: scope.limit + 1, ...(q === '' ? {} : { id: q }) }
  const found = await deps.history.page(query)
  const page = found.slice(0, scope.limit)
  return { found: page, next: found.length > page.length ? page.at(-1) : undefined }
}

/** Looks through what was asked, newest first, until there is a page, or enough was looked at. */
async function search(deps: HistoryDeps, scope: HistoryPage, folded: string): Promise<Found> {
  const hits: ListPosition[] = []
  let before = scope.before
  let next: ListPosition | undefined
  for (let looked = 0; looked < MOST_LOOKED_AT; looked += LOOK) {
    const query = { ...scope, limit: LOOK, ...(before === undefined ? {} : { before }) }
    const rows = await deps.history.actions(query)
    hits.push(...rows.filter(({ action }) => holdsText(action, folded)))
    before = rows.at(-1)
    const done = rows.length < LOOK
    next = done ? undefined : before
    if (done || hits.length > scope.limit) break
  }
  const page = hits.slice(0, scope.limit)
  const ids = page.map(({ id }) => id)
  const byId = new Map((await deps.requests.findMany(ids)).map((request) => [request.id, request]))
  return {
    found: ids.flatMap((id) => byId.get(id) ?? []),
    next: hits.length > page.length ? page.at(-1) : next,
  }
}

/** Reading is what decides a dry-run and expires what lapsed. */
function isStill({ status }: ApprovalRequest, wanted: RequestStatus | undefined): boolean {
  return wanted === undefined || status === wanted
}

import { foldText, holdsText } from '../../../src/domain/search.ts'
import type { PendingRequest } from '../api/contract.ts'

/**
 * Adds the inbox's filters, which are in the address of the inbox and of each page opened from it, to `path`, so that the ways
 * back and on keep them. `d` is the decision that a link suggests (`wantedOutcome`); that of the current address is dropped.
 */
export function keepFilters(path: string, d?: string | null): string {
  const query = new URLSearchParams(location.search)
  query.delete('d')
  if (d) query.set('d', d)
  return `${path}?${query}`.replace(/\?$/, '')
}

/** Returns the test by which the filters and the search in the current address let the inbox list a request. */
export function inboxFilter(): (request: PendingRequest) => boolean {
  const query = new URLSearchParams(location.search)
  const [by, of, impact] = [query.get('by'), query.get('of'), query.get('impact')]
  const account = query.get('account')
  const searched = foldText(query.get('q') ?? '')
  return ({ id, action, account_id, requested_by, high_impact }) => {
    const { key_name, account_name } = requested_by
    return (
      (by || key_name) === key_name &&
      (of || account_name) === account_name &&
      (account || account_id) === account_id &&
      (high_impact || impact !== 'high') &&
      (searched === '' || holdsText([id, action, key_name, account_name].join('\n'), searched))
    )
  }
}

/** Checks whether the current address asks for like requests to be folded together. */
export function isGrouped(): boolean {
  return new URLSearchParams(location.search).get('group') === 'kind'
}

type Placed = Pick<PendingRequest, 'expires_at' | 'created_at' | 'requested_by'>

/** Returns the order that the current address asks for; without one, what expires first is on top. */
export function inboxOrder(): (a: Placed, b: Placed) => number {
  const sort = new URLSearchParams(location.search).get('sort')
  if (sort === 'new') return (a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)
  if (sort !== 'by') return byEnd
  const caller = ({ requested_by }: Placed): string =>
    `${requested_by.account_name}\n${requested_by.key_name}`
  return (a, b) => caller(a).localeCompare(caller(b)) || byEnd(a, b)
}

type Ends = Pick<Placed, 'expires_at' | 'created_at'>

/** Sorts by the end; of two requests that end together, the older comes first. */
export function byEnd(a: Ends, b: Ends): number {
  return (
    Date.parse(a.expires_at) - Date.parse(b.expires_at) || Date.parse(a.created_at) - Date.parse(b.created_at)
  )
}

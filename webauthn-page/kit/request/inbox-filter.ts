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

/** Checks whether the filters in the current address let the inbox list the request. */
export function fitsFilters({ requested_by, high_impact }: PendingRequest): boolean {
  const query = new URLSearchParams(location.search)
  const fits = (name: string, value: string): boolean => (query.get(name) || value) === value
  return (
    fits('by', requested_by.key_name) &&
    fits('of', requested_by.account_name) &&
    (high_impact || query.get('impact') !== 'high')
  )
}

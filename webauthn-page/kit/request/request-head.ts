import type { Review } from '../api/contract.ts'
import { type Child, el } from '../dom/element.ts'
import { callerText } from '../show/caller-text.ts'
import { revokedKeyNote } from '../show/revoked-key.ts'
import { headingOf } from './words.ts'

/** State, badges and author of a request: the service's own words, outside the caller's frame (T44). */
export function requestHead(review: Review): HTMLElement {
  const state = review.cancelled === true ? 'withdrawn' : review.status
  return el(
    'div',
    { class: 'request-head' },
    el(
      'p',
      { class: `state ${state}` },
      state === 'pending' ? 'Approval request' : `Approval request: ${state}`,
    ),
    el('h1', {}, headingOf(review)),
    badges(review),
    el(
      'p',
      { class: 'asker' },
      'Countersign knows the caller as the API key ',
      strong(review.requested_by.key_name),
      ' of the account ',
      strong(review.requested_by.account_name),
      '.',
    ),
    revokedKeyNote(review.requested_by),
  )
}

function strong(name: string): HTMLElement {
  return el('strong', {}, callerText(name))
}

function badges(review: Review): HTMLElement | undefined {
  const items: Child[] = []
  if (review.high_impact) items.push(el('li', { class: 'badge high-impact' }, 'High impact'))
  if (review.sandbox === true) items.push(el('li', { class: 'badge sandbox' }, 'Sandbox: a dry run'))
  return items.length === 0
    ? undefined
    : el('ul', { class: 'badges', 'aria-label': 'Marked by Countersign' }, ...items)
}

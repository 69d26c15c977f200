import type { Review } from '../api/contract.ts'
import { copyButton } from '../dom/copy-button.ts'
import { el } from '../dom/element.ts'
import { facts } from '../dom/facts.ts'
import { moment } from '../dom/moment.ts'
import { audience } from './audience.ts'

/** What the service itself adds to the signed statement. */
export function signedFacts(review: Review): HTMLElement {
  const lede =
    review.status === 'expired'
      ? 'It was to be signed together with what the caller wrote. Nothing was signed.'
      : 'Signed together with everything the caller wrote.'
  return el(
    'section',
    { class: 'card', 'aria-labelledby': 'facts-title' },
    el('h2', { id: 'facts-title' }, 'Stated by Countersign'),
    el('p', { class: 'hint' }, lede),
    facts(
      ['Service', el('span', { class: 'mono' }, audience())],
      ['Request', el('span', { class: 'mono' }, review.id)],
      [
        'Details (SHA-256)',
        el(
          'div',
          { class: 'copyable' },
          el(
            'div',
            {},
            el('code', { class: 'mono' }, review.context_sha256),
            el('p', { class: 'kind' }, 'computed in this browser from the exact text above'),
          ),
          copyButton(review.context_sha256, 'the SHA-256 of the details'),
        ),
      ],
      ['Created', moment(review.created_at)],
      ['Expires', moment(review.expires_at)],
      ['High impact', review.high_impact ? 'Yes' : 'No'],
      review.approver === null
        ? ['Your part', 'You may look at this request; you are not one of its approvers.']
        : [
            'Your reference',
            el('span', { class: 'mono' }, review.approver),
            ' ',
            el('span', { class: 'kind' }, 'stands for you in receipts'),
          ],
    ),
  )
}

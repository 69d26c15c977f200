import type { Review } from '../api/contract.ts'
import { copyButton } from '../dom/copy-button.ts'
import { type Child, el, freshId } from '../dom/element.ts'
import { facts } from '../dom/facts.ts'
import { moment } from '../dom/moment.ts'
import { callerText } from '../show/caller-text.ts'
import { audience } from './audience.ts'

/** What the service itself adds to the signed statement. */
export function signedFacts(review: Review): HTMLElement {
  const titleId = freshId('facts-title')
  const lede =
    review.status === 'expired'
      ? 'It was to be signed together with what the caller wrote. Nothing was signed.'
      : 'Signed together with everything the caller wrote.'
  return el(
    'section',
    { class: 'card', 'aria-labelledby': titleId },
    el('h2', { id: titleId }, 'Stated by Countersign'),
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
      ...yourPart(review),
    ),
  )
}

/** As whom the person would sign. */
function yourPart({ approver, on_behalf_of: other, votes }: Review): [string, ...Child[]][] {
  const reference = (text: string): HTMLElement => el('span', { class: 'mono' }, text)
  const stands = (text: string): HTMLElement => el('span', { class: 'kind' }, text)
  if (other !== undefined && other !== null)
    return [
      ['You decide for', callerText(other.name), ' ', reference(other.approver)],
      ['Your reference', reference(other.delegate), ' ', stands('is signed as the delegate')],
    ]
  const stoodIn = votes.find(({ mine, delegate }) => mine && delegate !== undefined)
  if (stoodIn !== undefined) return [['You decided for', reference(stoodIn.approver)]]
  if (approver === null)
    return [['Your part', 'You may look at this request; you are not one of its approvers.']]
  return [['Your reference', reference(approver), ' ', stands('stands for you in receipts')]]
}

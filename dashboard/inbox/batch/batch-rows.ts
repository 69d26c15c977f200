import type { Outcome } from '../../../src/domain/receipt.ts'
import type { Review } from '../../../webauthn-page/api/contract.ts'
import type { CheckedReview } from '../../../webauthn-page/decide/load-review.ts'
import { signedFacts } from '../../../webauthn-page/decide/signed-facts.ts'
import { type Child, el, freshId, link } from '../../../webauthn-page/dom/element.ts'
import { moment } from '../../../webauthn-page/dom/moment.ts'
import { callerBox } from '../../../webauthn-page/show/caller-box.ts'
import { callerQuote } from '../../../webauthn-page/show/caller-quote.ts'
import { callerText } from '../../../webauthn-page/show/caller-text.ts'
import { forWhom } from '../for-whom.ts'
import type { BatchItem } from './batch-shapes.ts'

/** One request that would be signed: its action in full, and everything else of it behind one press. */
export function itemRow(checked: CheckedReview): HTMLElement {
  const { review } = checked
  const { element: quote, textId } = callerQuote(review.action)
  return row(
    review,
    quote,
    el(
      'p',
      { class: 'asker' },
      'Asked by the API key ',
      el('strong', {}, callerText(review.requested_by.key_name)),
      ' of the account ',
      el('strong', {}, callerText(review.requested_by.account_name)),
      '. Expires ',
      moment(review.expires_at),
      '.',
    ),
    forWhom(review.on_behalf_of),
    everything(checked, textId),
  )
}

/** Made when it is opened: fifty requests at once may hold megabytes. */
function everything({ review, context }: CheckedReview, describedBy: string): HTMLElement {
  const summary = el('summary', { 'aria-describedby': describedBy }, 'Everything that is signed')
  const details = el('details', { class: 'exact' }, summary)
  details.addEventListener(
    'toggle',
    () => {
      const box = callerBox({
        action: review.action,
        context,
        contextJson: review.context_json,
        keyName: review.requested_by.key_name,
        actionId: freshId('action'),
      })
      const parts = [box, signedFacts(review)]
      // Landmarks must be told apart by their names; of these there are as many as requests.
      for (const part of parts) part.setAttribute('role', 'group')
      details.append(...parts)
    },
    { once: true },
  )
  return details
}

/** What came of one request. */
export function resultRow(review: Review, decision: Outcome, item: BatchItem | undefined): HTMLElement {
  const { element: quote, textId } = callerQuote(review.action)
  return row(
    review,
    el('p', { class: 'batch-outcome' }, ...outcomeOf(decision, item)),
    quote,
    el('p', {}, link(`/a/${encodeURIComponent(review.id)}`, 'Look at it', { 'aria-describedby': textId })),
  )
}

function outcomeOf(decision: Outcome, item: BatchItem | undefined): Child[] {
  if (item === undefined) return [el('strong', {}, 'Unknown'), ': the service did not say what came of it.']
  if (item.error !== undefined) return [el('strong', {}, 'Not recorded'), `: ${item.error}`]
  if (item.status === 'pending')
    return [
      el('strong', {}, decision === 'approved' ? 'Your approval is recorded' : 'Your rejection is recorded'),
      '. It waits for others.',
    ]
  return [el('strong', {}, item.status === 'approved' ? 'Approved' : 'Rejected'), '.']
}

function row({ high_impact }: Review, ...parts: Child[]): HTMLElement {
  return el(
    'li',
    { class: 'waiting' },
    high_impact && el('p', { class: 'badge high-impact' }, 'High impact'),
    ...parts,
  )
}

import { type Child, el } from '../dom/element.ts'
import { callerBox } from '../show/caller-box.ts'
import type { DecisionFormOptions } from './decision-form.ts'
import { decisionPanel } from './decision-panel.ts'
import type { CheckedReview } from './load-review.ts'
import { requestHead } from './request-head.ts'
import { signedFacts } from './signed-facts.ts'

/**
 * The whole page of one request. While a decision is open the text comes before the buttons, for the eye on a phone and
 * for keyboard and screen reader; once it is settled, the outcome comes first.
 */
export function requestScene(
  { review, context }: CheckedReview,
  live: readonly HTMLElement[],
  options: DecisionFormOptions,
  message: Child,
): HTMLElement {
  const open = review.status === 'pending' && review.may_decide
  const text = el(
    'div',
    { class: 'request-text' },
    callerBox({
      action: review.action,
      context,
      contextJson: review.context_json,
      keyName: review.requested_by.key_name,
    }),
    signedFacts(review),
  )
  const panel = decisionPanel(review, live, options)
  return el(
    'div',
    { class: open ? 'request open' : 'request settled' },
    message,
    requestHead(review),
    el('div', { class: 'request-columns' }, ...(open ? [text, panel] : [panel, text])),
  )
}

import { type Child, el } from '../dom/element.ts'
import { callerBox } from '../show/caller-box.ts'
import type { CheckedReview } from './load-review.ts'
import { requestHead } from './request-head.ts'
import { signedFacts } from './signed-facts.ts'

/** The element that holds the action: what the buttons decide on. */
export const ACTION_ID = 'requested-action'

/**
 * The whole page of one request, with `panel` beside what the caller wrote. While a decision is open the text comes before
 * the buttons, for the eye on a phone and for keyboard and screen reader; once it is settled, the outcome comes first.
 */
export function requestScene(
  { review, context }: CheckedReview,
  panel: HTMLElement,
  message?: Child,
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
      actionId: ACTION_ID,
    }),
    signedFacts(review),
  )
  return el(
    'div',
    { class: open ? 'request open' : 'request settled' },
    message,
    requestHead(review),
    el('div', { class: 'request-columns' }, ...(open ? [text, panel] : [panel, text])),
  )
}

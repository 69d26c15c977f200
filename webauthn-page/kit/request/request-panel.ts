import type { Review } from '../api/contract.ts'
import { el, link } from '../dom/element.ts'
import type { WritePerson } from './person.ts'
import { receiptView } from './receipt-view.ts'

/**
 * The right-hand part of the page of a request: what came of it, or what `decide` makes for a person who may decide it now
 * and has something to confirm with.
 */
export function requestPanel(
  review: Review,
  live: readonly HTMLElement[],
  decide: (review: Review) => HTMLElement,
  person?: WritePerson,
): HTMLElement {
  return el(
    'section',
    { class: 'panel', 'aria-labelledby': 'panel-title' },
    el('h2', { id: 'panel-title' }, titleOf(review)),
    ...live,
    ...body(review, decide, person),
  )
}

function titleOf(review: Review): string {
  if (review.decision !== undefined) return 'Receipt'
  return review.status === 'pending' && review.may_decide ? 'Your decision' : 'State'
}

function body(
  review: Review,
  decide: (review: Review) => HTMLElement,
  person: WritePerson | undefined,
): HTMLElement[] {
  if (review.decision !== undefined) return [receiptView(review, review.decision, person)]
  if (review.status !== 'pending') return [el('p', {}, finalSentence(review))]
  if (!review.may_decide) return [whyNot(review)]
  if (review.methods.length > 0) return [decide(review)]
  return [
    el('p', {}, 'You have no passkey or code yet. ', link('/account', 'Set one up'), ', then come back.'),
  ]
}

function finalSentence(review: Review): string {
  if (review.status !== 'expired') return 'The decision is recorded.'
  return review.cancelled === true
    ? 'The caller took the request back. Nothing was signed and nothing is left to do.'
    : 'Nobody decided in time. Nothing was signed; the caller has to ask again.'
}

/** The service's reason in words that lead on. */
function whyNot(review: Review): HTMLElement {
  switch (review.why_not) {
    case 'already_voted':
      return el(
        'p',
        {},
        'Your vote is recorded. This page follows the votes of the others; you may close it.',
      )
    case 'passkey_required':
      return el(
        'p',
        {},
        'This request must be decided with a passkey. ',
        link('/account', 'Add a passkey'),
        ', then come back.',
      )
    case 'method_not_enrolled':
      return el(
        'p',
        {},
        'None of your ways of confirming is allowed here. ',
        link('/account', 'Add a passkey'),
        ', then come back.',
      )
    default:
      return el(
        'p',
        {},
        review.sandbox === true
          ? 'A sandbox request decides itself.'
          : 'You can follow this request here, but not decide it.',
      )
  }
}

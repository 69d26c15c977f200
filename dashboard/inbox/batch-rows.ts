import type { Outcome } from '../../src/domain/receipt.ts'
import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, freshId, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import type { CheckedReview } from '../../webauthn-page/kit/request/checked-review.ts'
import { signedFacts } from '../../webauthn-page/kit/request/request-scene.ts'
import { revokedKeyNote } from '../../webauthn-page/kit/request/request-words.ts'
import { callerBox } from '../../webauthn-page/kit/show/caller-box.ts'
import { callerName, callerQuote, kindOf } from '../../webauthn-page/kit/show/caller-text.ts'
import type { BatchItem } from './batch.ts'
import { forWhom } from './pending.ts'

/** A request in the list of what would be signed. */
interface ItemRow {
  element: HTMLElement
  /** Everything of it but its action. */
  details: Details
}

/** What can be opened and closed by its summary, and by a button for all of them. */
interface Details {
  element: HTMLDetailsElement
  show(open: boolean): void
}

/** One request that would be signed: its action in full, and everything else of it, open where the impact is high. */
function itemRow(checked: CheckedReview): ItemRow {
  const { review } = checked
  const { element: quote, textId } = callerQuote(review.action)
  const details = everything(checked, textId)
  const element = row(
    review,
    quote,
    el(
      'p',
      { class: 'asker' },
      'Asked by the API key ',
      callerName(review.requested_by.key_name),
      ' of the account ',
      callerName(review.requested_by.account_name),
      '. Expires ',
      moment(review.expires_at),
      '.',
    ),
    revokedKeyNote(review.requested_by),
    forWhom(review.on_behalf_of),
    details.element,
  )
  return { element, details }
}

/** Says before it is opened what is in it. */
function detailsTitle(context: CheckedReview['context']): string {
  return `Details (${Object.keys(context).length === 0 ? 'none given' : kindOf(context)})`
}

/** What is folded is made when it is opened: fifty requests at once may hold megabytes. */
function everything({ review, context }: CheckedReview, describedBy: string): Details {
  const summary = el('summary', { 'aria-describedby': describedBy }, detailsTitle(context))
  const element = el('details', { class: 'exact' }, summary)
  let made = false
  const make = (): void => {
    if (made) return
    made = true
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
    element.append(...parts)
  }
  const show = (open: boolean): void => {
    if (open) make()
    element.open = open
  }
  element.addEventListener('toggle', () => {
    if (element.open) make()
  })
  show(review.high_impact)
  return { element, show }
}

/** What came of one request. */
export function resultRow(review: Review, decision: Outcome, item: BatchItem | undefined): HTMLElement {
  const { element: quote, textId } = callerQuote(review.action)
  return row(
    review,
    el('p', { class: 'batch-outcome' }, ...outcomeOf(decision, item)),
    quote,
    p(link(`/a/${encodeURIComponent(review.id)}`, 'Look at it', { 'aria-describedby': textId })),
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

/** What would be signed, with one button that opens the details of every request, or closes them. */
export function itemList(items: readonly CheckedReview[]): HTMLElement {
  const rows = items.map((item) => itemRow(item))
  const allOpen = (): boolean => rows.every(({ details }) => details.element.open)
  const all = button('', 'quiet', () => {
    const open = !allOpen()
    for (const { details } of rows) details.show(open)
    update()
  })
  const update = (): void => {
    all.textContent = allOpen() ? 'Close all details' : 'Open all details'
  }
  const list = el(
    'ol',
    { class: 'waiting-list', 'aria-label': 'What is signed' },
    ...rows.map(({ element }) => element),
  )
  // The event of a `details` does not bubble.
  list.addEventListener('toggle', update, { capture: true })
  update()
  return el('div', { class: 'item-list' }, rows.length > 1 && buttonRow(all), list)
}

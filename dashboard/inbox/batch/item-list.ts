import { button } from '../../../webauthn-page/kit/dom/button.ts'
import { el } from '../../../webauthn-page/kit/dom/element.ts'
import type { CheckedReview } from '../../../webauthn-page/kit/request/checked-review.ts'
import { itemRow } from './batch-rows.ts'

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
  return el('div', { class: 'item-list' }, rows.length > 1 && el('div', { class: 'buttons' }, all), list)
}

import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { type NoticeSlot, noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'

/** One part of the account page. */
export interface Section {
  element: HTMLElement
  slot: NoticeSlot
  body: HTMLElement
  /** Replaces everything in this part, its heading too; the focus goes to the heading. */
  turnInto(title: string, lede: Child, body: HTMLElement): void
}

export function section(title: string, lede: Child): Section {
  const id = freshId('section')
  const slot = noticeSlot()
  const body = el('div', { class: 'section-body' })
  const heading = el('h2', { id, tabindex: -1 }, title)
  const about = el('p', { class: 'hint' }, lede)
  const element = el('section', { class: 'card', 'aria-labelledby': id }, heading, about, slot.element, body)
  return {
    element,
    slot,
    body,
    turnInto(newTitle, newLede, newBody) {
      heading.textContent = newTitle
      about.replaceChildren(newLede === undefined || newLede === false ? '' : newLede)
      slot.clear()
      body.replaceChildren(newBody)
      heading.focus()
    },
  }
}

import { type Child, el, freshId } from '../dom/element.ts'
import { type NoticeSlot, noticeSlot } from '../dom/notice.ts'

/** One part of the account page. */
export interface Section {
  element: HTMLElement
  slot: NoticeSlot
  body: HTMLElement
}

export function section(title: string, lede: Child): Section {
  const id = freshId('section')
  const slot = noticeSlot()
  const body = el('div', { class: 'section-body' })
  const element = el(
    'section',
    { class: 'card', 'aria-labelledby': id },
    el('h2', { id, tabindex: -1 }, title),
    el('p', { class: 'hint' }, lede),
    slot.element,
    body,
  )
  return { element, slot, body }
}

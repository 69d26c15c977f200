import { el, freshId } from '../dom/element.ts'
import { callerValue } from './caller-text.ts'

/** One text of a caller in the frame that names its author: nothing in it can pass as the service's own words (T44). */
export function callerQuote(text: string): { element: HTMLElement; textId: string } {
  const titleId = freshId('quote')
  const textId = freshId('quoted')
  const element = el(
    'div',
    { class: 'caller-box quote', role: 'group', 'aria-labelledby': titleId },
    el(
      'p',
      { class: 'caller-box-title', id: titleId },
      el('span', {}, 'Written by the caller'),
      ' ',
      el('span', { class: 'caller-box-caution' }, 'Not checked by Countersign'),
    ),
    el('div', { class: 'quoted', id: textId }, callerValue(text)),
  )
  return { element, textId }
}

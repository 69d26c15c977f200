import { el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { EVENTS, eventWords } from './event-words.ts'

/** The choice of events. */
export interface EventFields {
  element: HTMLElement
  /** `all`: those of later versions, too. `none`: nothing is chosen, and the fields say so. */
  read(): 'all' | 'none' | string[]
}

export function eventFields(): EventFields {
  const group = freshId('events')
  const error = el('p', { class: 'field-error', id: `${group}-error` })
  const choice = (label: string, checked: boolean): { row: HTMLElement; input: HTMLInputElement } => {
    const id = freshId('choice')
    const input = el('input', { type: 'radio', name: group, id, checked })
    return { row: el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)), input }
  }
  const all = choice('All events, also those of later versions', true)
  const some = choice('Only these', false)
  const boxes = EVENTS.map((type) => {
    const id = freshId('event')
    const input = el('input', { type: 'checkbox', id })
    const label = el('label', { for: id }, `${eventWords(type)} `, el('code', { class: 'kind' }, type))
    return { type, input, row: el('p', { class: 'check' }, input, ' ', label) }
  })
  const list = el('div', { class: 'sub-fields' }, ...boxes.map(({ row }) => row))
  const follow = (): void => {
    list.hidden = !some.input.checked
    error.replaceChildren()
  }
  for (const { input } of [all, some, ...boxes]) input.addEventListener('change', follow)
  follow()
  const legend = el('legend', {}, 'What it is told of')
  return {
    element: el('fieldset', { 'aria-describedby': error.id }, legend, all.row, some.row, list, error),
    read() {
      if (!some.input.checked) return 'all'
      const chosen = boxes.filter(({ input }) => input.checked).map(({ type }) => type)
      if (chosen.length > 0) return chosen
      error.textContent = 'Choose at least one event.'
      boxes[0]?.input.focus()
      return 'none'
    },
  }
}

import { button } from '../../webauthn-page/kit/dom/button.ts'
import { type Attributes, type Child, div, el } from '../../webauthn-page/kit/dom/element.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import type { RequestRow } from '../requests/request-shapes.ts'

/** One row of a list: its name, the hints about it, and after them its actions. */
export function entry(name: readonly Child[], about: readonly Child[], ...rest: Child[]): HTMLLIElement {
  const title = el('p', { class: 'entry-name' }, ...name)
  return el('li', { class: 'entry' }, el('div', {}, title, ...about), ...rest)
}

/** The same for an entry of a chat platform, whose names stand in frames. */
export function chatEntry(...parts: Parameters<typeof entry>): HTMLLIElement {
  const row = entry(...parts)
  row.classList.add('chat-entry')
  return row
}

/** A mark beside a name. */
export function tag(words: string, look: 'live' | 'warn' | 'severe' | '' = ''): HTMLElement {
  return el('span', { class: `tag ${look}` }, words)
}

/** The state of a request, as a tag. */
export function stateTag({ status, cancelled }: Pick<RequestRow, 'status' | 'cancelled'>): HTMLElement {
  const state = cancelled === true ? 'withdrawn' : status
  return el('span', { class: `state-tag ${state}` }, `${state.charAt(0).toUpperCase()}${state.slice(1)}`)
}

/** The class of a row's button that removes something for good. */
export const ENDS = 'button quiet ends'

export type RowPanel = ReturnType<typeof rowPanel>

/** A panel below a row of a list, in which the row's buttons show a form or an answer, one at a time. */
export function rowPanel() {
  const slot = noticeSlot()
  const content = div('panel-content')
  const element = div('row-panel', slot.element, content)
  let opened: HTMLElement | undefined
  let kept: HTMLElement[] = []
  return {
    element,
    slot,
    /** Shows content and focuses its first field or heading. Content shown only `once` stays below any later content. */
    show(shown: HTMLElement, once?: 'once') {
      const focused = document.activeElement
      // Content may arrive late: it must not take the letters that the person now types into a field elsewhere.
      const elsewhere = focused?.matches('input, textarea, select') === true && !element.contains(focused)
      if (once !== undefined) kept = []
      content.replaceChildren(shown, ...kept)
      if (once !== undefined) kept = [shown]
      const first = shown.querySelector<HTMLElement>('input:not([type=hidden]), h3')
      if (first?.matches('h3')) first.tabIndex = -1
      if (!elsewhere) first?.focus()
    },
    /** Empties the panel; the focus goes back to the button that filled it. */
    close() {
      slot.clear()
      if (content.firstElementChild === kept[0]) kept = []
      content.replaceChildren(...kept)
      opened?.focus()
    },
    /** A quiet button of the row: removes content that can be shown again, then runs `work`; the panel shows its errors. */
    opener(label: string, attributes: Attributes, work: () => void | Promise<void>): HTMLButtonElement {
      const opener = button(
        label,
        'quiet',
        () => {
          content.replaceChildren(...kept)
          opened = opener
          return slot.attempt(work)
        },
        attributes,
      )
      return opener
    },
  }
}

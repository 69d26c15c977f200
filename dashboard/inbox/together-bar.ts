import type { Outcome } from '../../src/domain/receipt.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'

/** The service takes no more at once. */
const AT_ONCE = 50

/** Buttons that decide on what is ticked, or on everything when nothing is. */
export interface TogetherBar {
  element: HTMLElement
  /** Takes what can be decided now, in order. */
  show(choice: { all: readonly string[]; ticked: readonly string[] }): void
}

/** `decide` gets the ids; it resolves when it is over. */
export function togetherBar(decide: (ids: string[], decision: Outcome) => Promise<void>): TogetherBar {
  let ids: string[] = []
  const approve = button('Approve all', 'plain', () => decide(ids, 'approved'))
  const reject = button('Reject all', 'plain', () => decide(ids, 'rejected'), {
    class: 'button plain reject-quiet',
  })
  const hint = el('p', { class: 'hint' })
  const element = el(
    'div',
    { class: 'together', role: 'group', 'aria-label': 'Decide several at once' },
    hint,
    el('div', { class: 'buttons' }, approve, reject),
  )
  return {
    element,
    show({ all, ticked }) {
      const chosen = ticked.length > 0 ? ticked : all
      ids = chosen.slice(0, AT_ONCE)
      element.hidden = all.length < 2
      const which = whichOnes(ids.length, all.length, ticked.length > 0)
      approve.textContent = `Approve ${which}`
      reject.textContent = `Reject ${which}`
      hint.textContent =
        chosen.length > AT_ONCE
          ? `At most ${AT_ONCE} can be decided at once: these are the first.`
          : 'Select some to decide only those. You see everything that is signed before you confirm.'
    },
  }
}

function whichOnes(chosen: number, all: number, ticked: boolean): string {
  if (chosen === all) return `all ${all}`
  return ticked ? `the ${chosen} selected` : `the first ${chosen}`
}

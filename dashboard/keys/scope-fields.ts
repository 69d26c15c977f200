import { el, freshId } from '../../webauthn-page/kit/dom/element.ts'

/** What a key may be used for, and how people call it. */
export const SCOPES: readonly (readonly [scope: string, words: string])[] = [
  ['approval:create', 'Ask for approvals, remind, withdraw, use them up'],
  ['approval:read', 'Read requests and wait for decisions'],
  ['approval:verify', 'Verify receipts'],
]

/** Boxes for the scopes, all checked. */
export interface ScopeFields {
  element: HTMLElement
  /** The chosen ones; undefined when none is, and the fields say so. */
  read(): string[] | undefined
}

export function scopeFields(): ScopeFields {
  const errorId = freshId('scopes-error')
  const error = el('p', { class: 'field-error', id: errorId })
  const boxes = SCOPES.map(([scope, words]) => {
    const id = freshId('scope')
    const box = el('input', { type: 'checkbox', id, checked: true, 'aria-describedby': errorId })
    box.addEventListener('change', () => error.replaceChildren())
    return { scope, box, row: el('p', { class: 'check' }, box, ' ', el('label', { for: id }, words)) }
  })
  const element = el(
    'fieldset',
    {},
    el('legend', {}, 'What it may do'),
    ...boxes.map(({ row }) => row),
    error,
  )
  return {
    element,
    read() {
      const chosen = boxes.filter(({ box }) => box.checked).map(({ scope }) => scope)
      if (chosen.length > 0) return chosen
      error.textContent = 'Choose at least one.'
      boxes[0]?.box.focus()
      return undefined
    },
  }
}

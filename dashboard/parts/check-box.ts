import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'

/** A box to tick, its label and, below, what it means. */
export function checkBox(
  label: Child,
  { hint, checked = false, disabled = false }: { hint?: string; checked?: boolean; disabled?: boolean } = {},
): { row: HTMLElement; input: HTMLInputElement } {
  const id = freshId('check')
  const described = hint === undefined ? undefined : `${id}-hint`
  const input = el('input', { type: 'checkbox', id, checked, disabled, 'aria-describedby': described })
  const row = el(
    'div',
    { class: 'check-field' },
    el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)),
    hint !== undefined && el('p', { class: 'hint', id: `${id}-hint` }, hint),
  )
  return { row, input }
}

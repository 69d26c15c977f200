import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'

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

/** A labelled list to choose one value from, with a place for its error. */
export interface ChoiceField {
  row: HTMLElement
  input: HTMLSelectElement
  /** Shows what is wrong and marks the field; undefined clears it. */
  setError(message?: string): void
}

/** One value and how people call it, or several under a name. */
export type Choice =
  | readonly [value: string, label: string]
  | { group: string; choices: readonly (readonly [value: string, label: string])[] }

interface ChoiceOptions {
  label: string
  name: string
  choices: readonly Choice[]
  /** Chosen at first; added as it is when no choice has it, so that nothing chosen elsewhere is lost unseen. */
  value?: string
}

export function choiceField({ label, name, choices, value = '' }: ChoiceOptions): ChoiceField {
  const id = freshId(name)
  const input = el('select', { id, name, class: 'select', 'aria-describedby': `${id}-error` })
  input.append(...choices.map(choiceElement))
  if (![...input.options].some((option) => option.value === value)) input.append(optionOf([value, value]))
  input.value = value
  const error = el('p', { class: 'field-error', id: `${id}-error` })
  const row = el('div', { class: 'field' }, el('label', { for: id }, label), input, error)
  const setError = (message?: string): void => {
    error.textContent = message ?? ''
    if (message === undefined) input.removeAttribute('aria-invalid')
    else input.setAttribute('aria-invalid', 'true')
  }
  input.addEventListener('change', () => setError())
  return { row, input, setError }
}

function choiceElement(choice: Choice): HTMLElement {
  if (!('group' in choice)) return optionOf(choice)
  return el('optgroup', { label: choice.group }, ...choice.choices.map(optionOf))
}

function optionOf([value, label]: readonly [string, string]): HTMLOptionElement {
  return el('option', { value }, label)
}

/** A field for a day of the reader's own calendar. */
export function dayField(name: string, label: string, value: string): Field {
  return field({ label, name, attributes: { type: 'date', value } })
}

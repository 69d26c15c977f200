import { runOnce } from './button.ts'
import { type Attributes, announce, type Child, div, el, freshId } from './element.ts'

/** A form that only this page sends, once at a time; the browser's own checks are off, since ours say more. */
export function form(
  attributes: Attributes,
  send: () => void | Promise<void>,
  ...children: Child[]
): HTMLFormElement {
  const element = el('form', { novalidate: true, ...attributes }, ...children)
  element.addEventListener('submit', (event) => {
    event.preventDefault()
    void runOnce(element, send)
  })
  return element
}

/**
 * What the service takes of names and e-mail addresses. It counts code points and the browser UTF-16 units, which are
 * never fewer: what fits into the field is never too long for the service.
 */
const NAME_LENGTH = 80
const EMAIL_LENGTH = 254

/** Where what is wrong is said. */
export interface Marked {
  input: HTMLElement
  /** Shows what is wrong and marks the input; undefined clears it. */
  setError(message?: string): void
}

/** A labelled input with its hint and its error, tied together for assistive technology. */
export interface Field extends Marked {
  row: HTMLElement
  input: HTMLInputElement | HTMLTextAreaElement
}

interface FieldOptions {
  label: string
  name: string
  hint?: string | undefined
  multiline?: boolean
  attributes?: Attributes
}

export function field({ label, name, hint, multiline = false, attributes = {} }: FieldOptions): Field {
  const common: Attributes = { id: freshId(name), name, spellcheck: 'false', ...attributes }
  const input = multiline
    ? el('textarea', { rows: 3, ...common })
    : el('input', { type: 'text', class: 'input', ...common })
  const tied = tie(input, label, hint)
  input.addEventListener('input', () => tied.setError())
  return tied
}

/** The row of an input: its label, its hint and its error, which describe it. */
export function tie<Input extends HTMLElement>(
  input: Input,
  label: string,
  hint?: string,
): Marked & { row: HTMLElement; input: Input } {
  const { id } = input
  const error = el('p', { class: 'field-error', id: `${id}-error` })
  input.setAttribute('aria-describedby', hint === undefined ? error.id : `${id}-hint ${error.id}`)
  const row = div(
    'field',
    el('label', { for: id }, label),
    hint !== undefined && el('p', { class: 'hint', id: `${id}-hint` }, hint),
    input,
    error,
  )
  const setError = (message?: string): void => {
    error.textContent = message ?? ''
    if (message === undefined) input.removeAttribute('aria-invalid')
    else input.setAttribute('aria-invalid', 'true')
  }
  return { row, input, setError }
}

/** The field for what a person or a thing is called. */
export function nameField(label: string, hint?: string, more: Attributes = {}): Field {
  return field({
    label,
    name: 'name',
    hint,
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', ...more },
  })
}

/** The field for an e-mail address. */
export function emailField(label: string, autocomplete: string, hint?: string): Field {
  const attributes = { type: 'email', autocomplete, required: true, maxlength: EMAIL_LENGTH }
  return field({ label, name: 'email', hint, attributes })
}

/** The service judges addresses; here only plain slips are caught. Where there is one, the field says `message`. */
export function readEmail(entry: Field, message: string): string | undefined {
  const address = entry.input.value.trim()
  return /^[^\s@]+@[^\s@]+$/.test(address) ? address : wrong(entry, message)
}

/** Says what is wrong with a field and takes the focus there, which has it read; where the focus is there already, it is told. */
export function wrong({ input, setError }: Marked, message: string): undefined {
  setError(message)
  if (document.activeElement === input) announce(message)
  else input.focus()
}

/** What a field says, without the blanks around it. Where that is nothing, the field says `message`. */
export function filled(entry: Field, message: string): string | undefined {
  return entry.input.value.trim() || wrong(entry, message)
}

/** A box to tick, or one of several ways to choose from, and its label. */
export function tick(
  type: 'checkbox' | 'radio',
  label: Child,
  attributes: Attributes = {},
): { row: HTMLElement; input: HTMLInputElement } {
  const id = freshId('tick')
  const input = el('input', { type, id, ...attributes })
  return { row: el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)), input }
}

/** The field for a 6-digit code of an authenticator app. */
export function codeField(hint = 'The 6 digits your authenticator app shows now.'): Field {
  return field({
    label: 'Code from your authenticator app',
    name: 'code',
    hint,
    attributes: {
      inputmode: 'numeric',
      autocomplete: 'one-time-code',
      pattern: '[0-9 ]*',
      maxlength: 7,
      class: 'input code-input',
    },
  })
}

/** Reads 6 digits (a space in the middle is fine). Marks the field and returns undefined when it is something else. */
export function readCode(code: Field): string | undefined {
  const digits = code.input.value.replaceAll(' ', '')
  if (/^[0-9]{6}$/.test(digits)) return digits
  return wrong(code, 'Enter the 6 digits that your authenticator app shows.')
}

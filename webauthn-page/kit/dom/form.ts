import { runOnce } from './button.ts'
import { type Attributes, announce, type Child, div, el, freshId } from './element.ts'

/** A form that this page's script sends, once at a time. The browser's own validation is off, since ours explains more. */
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
 * The service's length limits for names and e-mail addresses. It counts code points, while the browser counts UTF-16 units,
 * which are never fewer: a text that fits into the field is never too long for the service.
 */
const NAME_LENGTH = 80
const EMAIL_LENGTH = 254

/** An input with a place for its error. */
export interface Marked {
  input: HTMLElement
  /** Shows the error and marks the input as invalid; undefined clears both. */
  setError(message?: string): void
}

/** A labelled input, tied to its hint and its error for assistive technology. */
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

/** Makes the row of an input: its label, its hint and its error, tied to the input. */
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

/** A field for the name of a person or a thing. */
export function nameField(label: string, hint?: string, more: Attributes = {}): Field {
  return field({
    label,
    name: 'name',
    hint,
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', ...more },
  })
}

/** A field for an e-mail address. */
export function emailField(label: string, autocomplete: string, hint?: string): Field {
  const attributes = { type: 'email', autocomplete, required: true, maxlength: EMAIL_LENGTH }
  return field({ label, name: 'email', hint, attributes })
}

/** Reads an e-mail address. Catches only obvious slips, for which the field shows `message`; the service does the real check. */
export function readEmail(entry: Field, message: string): string | undefined {
  const address = entry.input.value.trim()
  return /^[^\s@]+@[^\s@]+$/.test(address) ? address : wrong(entry, message)
}

/** Shows a field's error and focuses the field, so that a screen reader reads it; announces it if the focus is already there. */
export function wrong({ input, setError }: Marked, message: string): undefined {
  setError(message)
  // What is folded away cannot have the focus.
  input.closest('details')?.setAttribute('open', '')
  if (document.activeElement === input) announce(message)
  else input.focus()
}

/** Returns a field's text, trimmed. If it is empty, shows `message` at the field and returns undefined. */
export function filled(entry: Field, message: string): string | undefined {
  return entry.input.value.trim() || wrong(entry, message)
}

/** A checkbox or radio button with its label. */
export function tick(
  type: 'checkbox' | 'radio',
  label: Child,
  attributes: Attributes = {},
): { row: HTMLElement; input: HTMLInputElement } {
  const id = freshId('tick')
  const input = el('input', { type, id, ...attributes })
  return { row: el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)), input }
}

/** A field for a 6-digit code from an authenticator app. */
export function codeField(hint = 'The 6 digits your authenticator app shows now.', placeholder = ''): Field {
  return field({
    label: 'Code from your authenticator app',
    name: 'code',
    hint,
    attributes: {
      inputmode: 'numeric',
      autocomplete: 'one-time-code',
      pattern: '[0-9 ]*',
      placeholder,
      maxlength: 7,
      class: 'input code-input',
    },
  })
}

/** Reads 6 digits (spaces are ignored). Marks the field and returns undefined for anything else. */
export function readCode(code: Field): string | undefined {
  const digits = code.input.value.replaceAll(' ', '')
  if (/^[0-9]{6}$/.test(digits)) return digits
  return wrong(code, 'Enter the 6 digits that your authenticator app shows.')
}

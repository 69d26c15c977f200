import { el } from '../kit/dom/element.ts'
import { EMAIL_LENGTH, type Field, field, NAME_LENGTH } from '../kit/dom/field.ts'

export interface Person {
  email: string
  name: string
}

/** Who the first owner is. */
export interface PersonFields {
  element: HTMLElement
  fields: Record<string, Field>
  /** Undefined after marking the fields that are wrong; the first of them has the focus. */
  read(): Person | undefined
}

export function personFields(): PersonFields {
  const email = field({
    label: 'E-mail',
    name: 'email',
    hint: 'Colleagues know you by it here, and you give it when you sign in with a code. No e-mail is sent to it.',
    attributes: { type: 'email', autocomplete: 'email', required: true, maxlength: EMAIL_LENGTH },
  })
  const name = field({
    label: 'Your name',
    name: 'name',
    attributes: { autocomplete: 'name', required: true, maxlength: NAME_LENGTH },
  })
  const read = (): Person | undefined => {
    const values = { email: email.input.value.trim(), name: name.input.value.trim() }
    if (values.name === '') wrong(name, 'Enter your name.')
    if (!/^\S+@\S+$/.test(values.email)) wrong(email, 'Enter your e-mail address, such as ana@example.com.')
    return values.name === '' || !/^\S+@\S+$/.test(values.email) ? undefined : values
  }
  return {
    element: el('div', { class: 'person-fields' }, email.row, name.row),
    fields: { email, name },
    read,
  }
}

/** Marks a field and takes the focus there. */
export function wrong(input: Field, message: string): void {
  input.setError(message)
  input.input.focus()
}

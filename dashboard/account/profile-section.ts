import { okShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { patch } from '../../webauthn-page/kit/api/request.ts'
import { runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { choiceField } from '../parts/choice-field.ts'
import { section } from '../parts/section.ts'

/** The service takes 60 seconds to 7 days. */
const TTLS = [
  ['300', '5 minutes'],
  ['900', '15 minutes'],
  ['1800', '30 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['28800', '8 hours'],
  ['86400', '1 day'],
  ['259200', '3 days'],
  ['604800', '7 days'],
] as const

/** How a person is called, and how long requests of their account wait that name no time themselves. */
export function profileSection(
  { name, default_ttl_seconds }: User,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const part = section(
    'Profile',
    'How others see you, and how long a request waits that does not say so itself.',
  )
  const called = field({
    label: 'Your name',
    name: 'name',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'name', required: true, value: name },
  })
  const wanted = String(default_ttl_seconds)
  const known = TTLS.some(([seconds]) => seconds === wanted)
  const ttl = choiceField({
    label: 'Requests wait for',
    name: 'default_ttl_seconds',
    choices: known ? TTLS : [[wanted, `${wanted} seconds`], ...TTLS],
    value: wanted,
  })
  const form = el(
    'form',
    { novalidate: true, class: 'stacked', 'aria-label': 'Profile' },
    called.row,
    ttl.row,
    el('div', { class: 'buttons' }, submitButton('Save the profile', 'plain')),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    const body = { name: called.input.value.trim(), default_ttl_seconds: Number(ttl.input.value) }
    if (body.name === '') {
      called.setError('Enter your name.')
      return called.input.focus()
    }
    void runOnce(form, async () => {
      try {
        await patch('/me', body, okShape)
        await done('Your profile is saved.')
      } catch (error) {
        part.slot.fail(error, { name: called })
      }
    })
  })
  part.body.append(form)
  return part.element
}

import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { patch } from '../../webauthn-page/kit/api/request.ts'
import { runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, facts } from '../../webauthn-page/kit/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { section } from '../parts/section.ts'
import type { Account } from './settings-shapes.ts'

/** What the account is called: approvers see it as where a request comes from. */
export function nameSection(
  { id, name, created_at }: Account,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const part = section('Account', 'Approvers see its name beside every request.')
  const called = field({
    label: 'Name of the account',
    name: 'name',
    hint: 'Open requests keep the name they were made under.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: name },
  })
  const form = el(
    'form',
    { novalidate: true, class: 'stacked', 'aria-label': 'Name of the account' },
    called.row,
    el('div', { class: 'buttons' }, submitButton('Save the name', 'plain')),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    const wanted = called.input.value.trim()
    if (wanted === '') {
      called.setError('Give the account a name.')
      return called.input.focus()
    }
    void runOnce(form, async () => {
      try {
        await patch('/account', { name: wanted }, okShape)
        await done('The account has a new name.')
      } catch (error) {
        part.slot.fail(error, { name: called })
      }
    })
  })
  part.body.append(facts(['Account id', el('code', {}, id)], ['Created', day(created_at)]), form)
  return part.element
}

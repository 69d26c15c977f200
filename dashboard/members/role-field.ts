import { el } from '../../webauthn-page/kit/dom/element.ts'
import { type ChoiceField, choiceField } from '../parts/choice-field.ts'
import { ROLES } from './role-words.ts'

/** Which role somebody gets, and what that one may. */
export function roleField(value: string): ChoiceField {
  const role = choiceField({
    label: 'Role',
    name: 'role',
    choices: ROLES.map(([one, label]) => [one, label] as const),
    value,
  })
  const meaning = el('p', { class: 'hint', role: 'status' })
  const follow = (): void => {
    meaning.textContent = ROLES.find(([one]) => one === role.input.value)?.[2] ?? ''
  }
  role.input.addEventListener('change', follow)
  role.input.after(meaning)
  follow()
  return role
}

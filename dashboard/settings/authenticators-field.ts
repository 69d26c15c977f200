import { div } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, wrong } from '../../webauthn-page/kit/dom/form.ts'
import { choiceField } from '../parts/fields.ts'
import type { Policy } from './settings-shapes.ts'

/** Which passkeys count. */
export type Rule = NonNullable<Policy['authenticators']> | null

interface AuthenticatorsField extends Field {
  /** Undefined when something is wrong, and the field says so. */
  read(): { rule: Rule } | undefined
}

const AAGUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Any passkey, those whose make is proven, or some models of these. */
export function authenticatorsField(rule: Rule): AuthenticatorsField {
  const kind = choiceField({
    label: 'Authenticators',
    name: 'authenticators',
    choices: [
      ['any', 'Any passkey'],
      ['attested', 'Only those whose make is proven'],
      ['models', 'Only these models, proven'],
    ],
    value: rule === null ? 'any' : rule === 'attested' ? rule : 'models',
  })
  const models = field({
    label: 'Models',
    name: 'models',
    hint: 'AAGUIDs, as your own and the members’ passkeys name them. Codes do not count either; your own passkey must be one of these.',
    attributes: {
      autocomplete: 'off',
      class: 'input list-input',
      value: Array.isArray(rule) ? rule.join(', ') : '',
    },
  })
  const follow = (): void => {
    models.row.hidden = kind.input.value !== 'models'
  }
  kind.input.addEventListener('change', follow)
  follow()
  const read = (): { rule: Rule } | undefined => {
    if (kind.input.value === 'any') return { rule: null }
    if (kind.input.value === 'attested') return { rule: 'attested' }
    const listed = models.input.value
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter((part) => part !== '')
    if (listed.length > 0 && listed.every((one) => AAGUID.test(one))) return { rule: [...new Set(listed)] }
    return wrong(models, 'Enter AAGUIDs, such as ee882879-721c-4913-9775-3dfcce97072a.')
  }
  return { ...models, row: div('', kind.row, models.row), read }
}

/** In words, for what is confirmed. */
export function ruleWords(rule: Rule): string {
  if (rule === null) return 'any'
  return rule === 'attested' ? 'only those whose make is proven' : `only ${rule.join(', ')}, proven`
}

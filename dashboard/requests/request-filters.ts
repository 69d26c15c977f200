import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'
import { repeatedNames } from '../keys/key-words.ts'
import { type Choice, type ChoiceField, choiceField } from '../parts/choice-field.ts'
import { dayField } from '../parts/day-field.ts'
import type { Filters } from '../parts/filters.ts'

/** As the service and the address name them. */
export const REQUEST_FILTERS = ['q', 'status', 'high_impact', 'sandbox', 'key', 'from', 'to'] as const

const ANY = ['', 'Any'] as const
const CHOICES: Record<'status' | 'high_impact' | 'sandbox', readonly Choice[]> = {
  status: [
    ANY,
    ['pending', 'Pending'],
    ['approved', 'Approved'],
    ['rejected', 'Rejected'],
    ['expired', 'Expired or withdrawn'],
  ],
  high_impact: [ANY, ['true', 'High impact only'], ['false', 'Not high impact']],
  sandbox: [ANY, ['false', 'Live only'], ['true', 'Sandbox only']],
}

/** An API key by which a list can be narrowed. */
export interface KnownKey {
  id: string
  name: string
  key_prefix: string
}

/** The fields of the history's filters; without `keys` one names a key by its id. */
export function requestFilterFields(
  filters: Filters,
  keys: readonly KnownKey[] | undefined,
): { search: Field; others: (Field | ChoiceField)[] } {
  const value = (name: string): string => filters.get(name) ?? ''
  const choice = (name: keyof typeof CHOICES, label: string): ChoiceField =>
    choiceField({ label, name, choices: CHOICES[name], value: value(name) })
  return {
    search: field({
      label: 'Search',
      name: 'q',
      hint: 'Words of the action, or the whole id of a request or a receipt.',
      attributes: { type: 'search', value: value('q'), autocomplete: 'off' },
    }),
    others: [
      choice('status', 'Status'),
      choice('high_impact', 'Impact'),
      choice('sandbox', 'Live or sandbox'),
      keyField(value('key'), keys),
      dayField('from', 'Asked on or after', value('from')),
      dayField('to', 'Asked on or before', value('to')),
    ],
  }
}

function keyField(value: string, keys: readonly KnownKey[] | undefined): Field | ChoiceField {
  if (keys === undefined)
    return field({
      label: 'Id of the API key',
      name: 'key',
      attributes: { value, autocomplete: 'off', placeholder: 'key_…' },
    })
  const twice = repeatedNames(keys)
  const choices = keys.map(
    ({ id, name, key_prefix }) => [id, twice.has(name) ? `${name} (${key_prefix}…)` : name] as const,
  )
  return choiceField({ label: 'API key', name: 'key', choices: [ANY, ...choices], value })
}

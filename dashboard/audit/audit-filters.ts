import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'
import { type Choice, type ChoiceField, choiceField } from '../parts/choice-field.ts'
import { dayField } from '../parts/day-field.ts'
import type { Filters } from '../parts/filters.ts'
import { AUDIT_WORDS } from './audit-words.ts'

/** As the service and the address name them. */
export const AUDIT_FILTERS = ['q', 'type', 'subject', 'actor', 'from', 'to'] as const

/** The fields of the filters. */
export function auditFilterFields(filters: Filters): { search: Field; others: (Field | ChoiceField)[] } {
  const value = (name: string): string => filters.get(name) ?? ''
  const idField = (name: string, label: string, hint: string): Field =>
    field({ label, name, hint, attributes: { value: value(name), autocomplete: 'off' } })
  return {
    search: field({
      label: 'Search',
      name: 'q',
      hint: 'Part of a type, an id, an address or a detail. Names are not in the entries; search for their ids.',
      attributes: { type: 'search', value: value('q'), autocomplete: 'off' },
    }),
    others: [
      choiceField({ label: 'What happened', name: 'type', choices: typeChoices(), value: value('type') }),
      idField('subject', 'About', 'The whole id of a request, key, person or webhook.'),
      idField('actor', 'By', 'The whole id of a person or key, or: service, cli, public, chat.'),
      dayField('from', 'On or after', value('from')),
      dayField('to', 'On or before', value('to')),
    ],
  }
}

function typeChoices(): Choice[] {
  const groups = Object.entries(AUDIT_WORDS).map(([group, types]) => ({
    group,
    choices: Object.entries(types).map(([type, { name }]) => [type, name] as const),
  }))
  return [['', 'Anything'], ...groups]
}

import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'

/** A field for a day of the reader's own calendar. */
export function dayField(name: string, label: string, value: string): Field {
  return field({ label, name, attributes: { type: 'date', value } })
}

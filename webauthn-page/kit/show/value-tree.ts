import { el } from '../dom/element.ts'
import { callerText, callerValue, textWarnings } from './caller-text.ts'
import { isJsonObject, type JsonValue, kindOf } from './json-value.ts'

/**
 * A JSON value for people. Objects and lists can be folded but start open: whoever decides must not need a click to see
 * what they sign. A text that looks like a number stays told apart from a number by its kind.
 */
export function valueTree(value: JsonValue): HTMLElement {
  if (typeof value === 'string') return callerValue(value)
  if (value === null || typeof value !== 'object') {
    return el('span', {}, el('code', {}, String(value)), ' ', el('span', { class: 'kind' }, kindOf(value)))
  }
  const entries: [string, JsonValue][] = Array.isArray(value)
    ? value.map((item, index) => [`${index + 1}.`, item])
    : Object.entries(value)
  if (entries.length === 0)
    return el('em', { class: 'note' }, Array.isArray(value) ? 'empty list' : 'no fields')
  return el('ul', { class: 'tree' }, ...entries.map(([key, item]) => branch(key, item, isJsonObject(value))))
}

function branch(key: string, value: JsonValue, named: boolean): HTMLElement {
  const label = named ? fieldName(key) : el('span', { class: 'tree-index' }, key)
  const folds = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  const warnings = named ? textWarnings(key) : []
  if (!folds) return el('li', {}, el('div', { class: 'leaf' }, label, ' ', valueTree(value)), ...warnings)
  const summary = el('summary', {}, label, ' ', el('span', { class: 'kind' }, kindOf(value)))
  return el('li', {}, el('details', { open: true }, summary, ...warnings, valueTree(value)))
}

/** A field name the caller chose, shown as exactly that; put `textWarnings` of it beside its value. */
export function fieldName(key: string): HTMLElement {
  if (key === '') return el('em', { class: 'note' }, 'empty name')
  return el('span', { class: 'field-name' }, callerText(key))
}

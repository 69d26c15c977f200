import { el } from '../dom/element.ts'
import { callerText, callerValue, textWarnings } from './caller-text.ts'
import { isJsonObject, type JsonValue } from './json-value.ts'
import { fieldName, valueTree } from './value-tree.ts'

const SEVERITIES: Record<string, string> = {
  critical: 'severe',
  high: 'severe',
  medium: 'moderate',
  moderate: 'moderate',
  warning: 'moderate',
  low: 'minor',
  info: 'minor',
}

/** The caller's findings as a list, severity in words first and colour second. Falls back to the tree for other forms. */
export function riskFindings(value: JsonValue): HTMLElement {
  if (!Array.isArray(value) || !value.every(isJsonObject) || value.length === 0) return valueTree(value)
  return el('ul', { class: 'findings' }, ...value.map(finding))
}

function finding(item: { [key: string]: JsonValue }): HTMLElement {
  const { detector, severity, snippet } = item
  const others = Object.entries(item).filter(([key]) => !['detector', 'severity', 'snippet'].includes(key))
  return el(
    'li',
    { class: 'finding' },
    severity !== undefined && severityLabel(severity),
    detector !== undefined && part('Detector', detector),
    snippet !== undefined && part('Snippet', snippet, 'snippet'),
    ...others.map(([key, other]) =>
      el(
        'div',
        { class: 'finding-part' },
        fieldName(key),
        ' ',
        el('div', {}, valueTree(other), ...textWarnings(key)),
      ),
    ),
  )
}

function severityLabel(severity: JsonValue): HTMLElement {
  if (typeof severity !== 'string') return part('Severity', severity)
  const known = Object.hasOwn(SEVERITIES, severity.toLowerCase())
    ? SEVERITIES[severity.toLowerCase()]
    : undefined
  return el('p', { class: `severity ${known ?? 'unknown'}` }, 'Severity: ', callerText(severity))
}

function part(label: string, value: JsonValue, look = ''): HTMLElement {
  const shown = typeof value === 'string' ? callerValue(value) : valueTree(value)
  return el(
    'div',
    { class: 'finding-part' },
    el('span', { class: 'part-label' }, label),
    ' ',
    el('div', { class: look }, shown),
  )
}

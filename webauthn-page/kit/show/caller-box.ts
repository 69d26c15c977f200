import { CONTEXT_KEYS } from '../../../src/domain/request.ts'
import { button, copyable } from '../dom/button.ts'
import { div, el, exactText, folded, freshId, kind, note } from '../dom/element.ts'
import {
  callerText,
  callerValue,
  fieldName,
  isJsonObject,
  type JsonValue,
  textWarnings,
  valueTree,
} from './caller-text.ts'

import { drawerFor } from './drawn.ts'

export interface CallerWords {
  action: string
  context: { [key: string]: JsonValue }
  /** The text that `context` was parsed from, and that is hashed and signed. */
  contextJson: string
  keyName: string
  /** The id of the element that holds the action; each box on a page needs its own. */
  actionId: string
  attachments: HTMLElement | false
}

/**
 * Everything the caller wrote, in one frame that names its author at both ends. Badges and statements of the service
 * never stand inside it, so whatever a caller writes ("High impact", "Verified") is only text in this frame (T44).
 */
export function callerBox({
  action,
  context,
  contextJson,
  keyName,
  actionId,
  attachments,
}: CallerWords): HTMLElement {
  const rows = ORDER.filter(([key]) => Object.hasOwn(context, key))
  // A known hint on how to draw the arguments says nothing more, and the exact text has it.
  const hint = rows.length > 0 && drawerFor(context.display) && 'display'
  const others = Object.entries(context).filter(
    ([key]) => key !== hint && !CONTEXT_KEYS.some(([known]) => known === key),
  )
  const titleId = freshId('caller-box-title')
  const box = el(
    'section',
    { class: 'caller-box', 'aria-labelledby': titleId },
    boxTitle(keyName, titleId),
    el('h3', { class: 'action-title' }, 'Requested action'),
    el('div', { class: 'action', id: actionId }, callerText(action)),
    ...textWarnings(action),
    attachments,
    rows.length > 0 &&
      el('dl', { class: 'caller-rows' }, ...rows.map(([key, label]) => knownRow(key, label, context))),
    others.length > 0 && otherRows(others),
    rows.length + others.length === 0
      ? note('The caller gave no further details.')
      : exactDetails(contextJson),
    el('p', { class: 'caller-box-end', 'aria-hidden': 'true' }, 'End of the caller’s text'),
  )
  const folds = box.querySelectorAll<HTMLDetailsElement>('.tree details:not([open])')
  if (folds.length > 0) box.querySelector('.caller-rows, .other-rows')?.before(openAll(folds))
  return box
}

/** The action's tool, arguments and findings come first, then why and who; hashes come last. */
const FIRST = ['tool', 'tool_arguments', 'risk_arg_findings']
const LAST = ['tool_arguments_fingerprint']
const rank = (key: string): number => (FIRST.includes(key) ? 0 : LAST.includes(key) ? 2 : 1)
const ORDER = [...CONTEXT_KEYS].sort(([one], [other]) => rank(one) - rank(other))

function openAll(folds: NodeListOf<HTMLDetailsElement>): HTMLElement {
  const all = button('Open all details', 'quiet', () => {
    for (const fold of folds) fold.open = true
  })
  return div('open-all', all)
}

function boxTitle(keyName: string, id: string): HTMLElement {
  return el(
    'h2',
    { class: 'caller-box-title', id },
    el('span', {}, 'Written by the caller', el('span', { class: 'not-on-phones' }, ' ', callerText(keyName))),
    ' ',
    el('span', { class: 'caller-box-caution' }, 'Not checked by Countersign'),
  )
}

function knownRow(key: string, label: string, context: CallerWords['context']): HTMLElement {
  return row(el('dt', {}, label), el('dd', {}, ...knownValue(key, context)), context[key])
}

/** On a phone, a single value stands beside its name if there is room, a list or object below it; a wide table always below. */
function row(name: HTMLElement, shown: HTMLElement, value: JsonValue | undefined): HTMLElement {
  const broad = shown.querySelector('.wide') === null ? '' : ' whole-row'
  return div(`caller-row${typeof value === 'object' && value !== null ? broad : ' single'}`, name, shown)
}

function knownValue(key: string, context: CallerWords['context']): HTMLElement[] {
  const value = context[key] ?? null
  if (key === 'risk_arg_findings') return [riskFindings(value)]
  if (key === 'tool_arguments_fingerprint' && typeof value === 'string') {
    return [copyable(div('mono', callerValue(value)), value, 'the fingerprint')]
  }
  return [valueTree(value, key === 'tool_arguments' ? drawerFor(context.display) : undefined)]
}

function otherRows(entries: [string, JsonValue][]): HTMLElement {
  const rows = entries.map(([key, value]) =>
    row(el('dt', {}, fieldName(key)), el('dd', {}, valueTree(value), ...textWarnings(key)), value),
  )
  return div(
    'other-rows',
    el('h3', {}, 'Other fields ', kind('supplied by caller')),
    el('dl', { class: 'caller-rows' }, ...rows),
  )
}

/** The text for a byte-by-byte check; the caller wrote it too, so it stands inside the frame. */
function exactDetails(json: string): HTMLElement {
  return folded('Exact text of the details', exactText('Exact text of the details', callerText(json)))
}

const SEVERITIES: Record<string, string> = {
  critical: 'severe',
  high: 'severe',
  medium: 'moderate',
  moderate: 'moderate',
  warning: 'moderate',
  low: 'minor',
  info: 'minor',
}

/** The caller's findings as a list, with the severity in words as well as in colour; other forms are shown as a tree. */
function riskFindings(value: JsonValue): HTMLElement {
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
      div('finding-part', fieldName(key), ' ', el('div', {}, valueTree(other), ...textWarnings(key))),
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
  return div(
    'finding-part',
    el('span', { class: 'part-label' }, label),
    ' ',
    el('div', { class: look }, shown),
  )
}

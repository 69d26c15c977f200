import type { CardFinding, CardRow } from '../../domain/card-view.ts'
import { CONTEXT_KEYS } from '../../domain/request.ts'
import { visibleString } from '../../domain/text.ts'

/**
 * A context as rows, known keys first, then the caller's own in the order of the signed text, all in visible form (T43).
 * Findings that are more than detector, severity and snippet are also a row: nothing is left out.
 */
export function contextRows(context: Record<string, unknown>): { rows: CardRow[]; findings: CardFinding[] } {
  const findings = findingsOf(context.risk_arg_findings)
  const known = CONTEXT_KEYS.filter(([key]) => Object.hasOwn(context, key))
    .filter(([key]) => key !== 'risk_arg_findings' || !findings.complete)
    .map(([key, label]): CardRow => {
      const shown = shownValue(context[key])
      return { label, known: true, ...shown, code: shown.code || key === 'tool_arguments_fingerprint' }
    })
  const others = Object.entries(context)
    .filter(([key]) => !CONTEXT_KEYS.some(([name]) => name === key))
    .map(([key, value]): CardRow => ({ label: oneLine(key), known: false, ...shownValue(value) }))
  return { rows: [...known, ...others], findings: findings.list }
}

/** What stands on one line, such as a name: line breaks in it are named like other characters that are not seen. */
function oneLine(text: string): string {
  return visibleString(text).replaceAll('\n', '[U+000A]').replaceAll('\t', '[U+0009]')
}

/** Texts as they are; everything else as JSON, so that the number 5 is told apart from the text "5". */
function shownValue(value: unknown): { text: string; code: boolean } {
  if (typeof value === 'string') return { text: visibleString(value), code: false }
  return { text: visibleJson(value), code: true }
}

/** Our own indentation is layout; what the caller wrote within a line is made visible. */
function visibleJson(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split('\n')
  return lines
    .map((line) => {
      const content = line.trimStart()
      return line.slice(0, line.length - content.length) + visibleString(content)
    })
    .join('\n')
}

const PARTS = ['detector', 'severity', 'snippet']

function findingsOf(value: unknown): { list: CardFinding[]; complete: boolean } {
  const items: unknown[] = Array.isArray(value) ? value : []
  if (items.length === 0 || !items.every(isFinding)) return { list: [], complete: false }
  const list = items.map((item) => ({
    detector: oneLine(part(item, 'detector')),
    severity: oneLine(part(item, 'severity')),
    snippet: visibleString(part(item, 'snippet')),
  }))
  const complete = items.every((item) => Object.keys(item).every((key) => PARTS.includes(key)))
  return { list, complete }
}

function isFinding(item: unknown): item is Record<string, unknown> {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return false
  const given = Object.entries(item).filter(([key]) => PARTS.includes(key))
  return given.length > 0 && given.every(([, text]) => typeof text === 'string')
}

function part(item: Record<string, unknown>, key: string): string {
  const text = Object.hasOwn(item, key) ? item[key] : undefined
  return typeof text === 'string' ? text : ''
}

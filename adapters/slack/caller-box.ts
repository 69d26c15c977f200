import type { types } from '@slack/bolt'
import type { CardFinding, CardRow, CardView } from '../../src/domain/card-view.ts'
import { cutText, fairShares, more } from './cut-text.ts'
import {
  bold,
  code,
  type Inline,
  italic,
  note,
  type Part,
  preformatted,
  quote,
  richText,
  section,
  words,
} from './rich-text.ts'

const LABEL_LENGTH = 100
const SEVERITY_LENGTH = 40

/** How much of the caller's words a card takes: characters in all, rows, findings. */
export interface BoxSize {
  characters: number
  rows: number
  findings: number
}

/**
 * Everything the caller wrote, framed, between two lines of ours that name its author: whatever it says ("High impact",
 * "Verified"), it says so inside (T44).
 */
export function callerBox(view: CardView, size: BoxSize): types.KnownBlock[] {
  const action = Math.min(view.action.length, Math.floor(size.characters / 2))
  const rows = view.rows.slice(0, size.rows)
  const findings = gravest(view.findings, size.findings)
  const lengths = [...rows.map(rowLength), ...findings.map(findingLength)]
  const shares = fairShares(lengths, size.characters - action)
  const shown = rows.map((row, index) => ({ row, parts: rowParts(row, shares[index] ?? 0) }))
  const others = shown.filter(({ row }) => !row.known).flatMap(({ parts }) => parts)
  const box = [
    section([bold('Written by the caller'), italic(' · Not checked by Countersign')]),
    section([bold('Requested action')]),
    ...framed(view.action, action),
    ...shown.filter(({ row }) => row.known).flatMap(({ parts }) => parts),
    ...findingsParts(view, findings, shares.slice(rows.length)),
    ...(others.length > 0
      ? [section([bold('Other fields'), italic(' · supplied by caller')]), ...others]
      : []),
    ...missing(view.rows.length - rows.length, 'field', 'fields'),
  ]
  return [richText(box), note('End of what the caller wrote')]
}

/** A text in the frame. What is missing is said by us, below the frame. */
export function framed(text: string, max: number): Part[] {
  if (text === '') return [quote([italic('empty text')])]
  const cut = cutText(text, max)
  return [...(cut.text === '' ? [] : [quote([words(cut.text)])]), ...missing(cut.left)]
}

/** A count of what is missing, in our words and outside the frame. */
function missing(count: number, one?: string, many?: string): Part[] {
  return count === 0 ? [] : [section([italic(`${more(count, one, many)} on the approval page`)])]
}

function rowLength({ label, known, text }: CardRow): number {
  return text.length + (known ? 0 : label.length)
}

/** Our label stands above the frame, the caller's own name of a field within. */
function rowParts(row: CardRow, share: number): Part[] {
  if (row.known) return [section([bold(row.label)]), ...valueParts([], row, share)]
  const label = cutText(row.label, Math.min(LABEL_LENGTH, share))
  const name = label.text === '' ? italic('empty name') : code(label.text)
  return valueParts([[name]], row, share - label.text.length, label.left)
}

function valueParts(above: Inline[][], row: CardRow, share: number, left = 0): Part[] {
  const cut = cutText(row.text, share)
  const tail = missing(cut.left + left)
  if (row.code && cut.text.includes('\n')) {
    return [...(above.length > 0 ? [quote(...above)] : []), preformatted(cut.text), ...tail]
  }
  const value = row.text === '' ? [[italic('empty text')]] : lineOf(row.code, cut.text)
  const lines = [...above, ...value]
  return [...(lines.length > 0 ? [quote(...lines)] : []), ...tail]
}

function lineOf(isCode: boolean, text: string): Inline[][] {
  if (text === '') return []
  return [[isCode ? code(text) : words(text)]]
}

const SEVERITIES: Record<string, { rank: number; symbol: string }> = {
  critical: { rank: 0, symbol: '⛔' },
  high: { rank: 1, symbol: '⛔' },
  medium: { rank: 2, symbol: '⚠️' },
  moderate: { rank: 2, symbol: '⚠️' },
  warning: { rank: 2, symbol: '⚠️' },
  low: { rank: 4, symbol: 'ℹ️' },
  info: { rank: 5, symbol: 'ℹ️' },
}

function severityOf({ severity }: CardFinding): { rank: number; symbol: string } {
  const word = severity.toLowerCase()
  const known = Object.hasOwn(SEVERITIES, word) ? SEVERITIES[word] : undefined
  return known ?? { rank: 3, symbol: '•' }
}

/** Where not all have a place, the graver ones stay: eight harmless findings must not hide a ninth. */
function gravest(findings: readonly CardFinding[], most: number): CardFinding[] {
  if (findings.length <= most) return [...findings]
  return [...findings].sort((a, b) => severityOf(a).rank - severityOf(b).rank).slice(0, most)
}

function findingLength({ detector, severity, snippet }: CardFinding): number {
  return detector.length + severity.length + snippet.length
}

function findingsParts(view: CardView, shown: CardFinding[], shares: number[]): Part[] {
  if (shown.length === 0) return []
  return [
    section([bold('Risk findings')]),
    ...shown.flatMap((finding, index) => findingParts(finding, shares[index] ?? 0)),
    ...missing(view.findings.length - shown.length, 'finding, not graver,', 'findings, none graver,'),
  ]
}

function findingParts(finding: CardFinding, share: number): Part[] {
  const severity = cutText(finding.severity, Math.min(SEVERITY_LENGTH, share))
  const detector = cutText(finding.detector, Math.min(LABEL_LENGTH, share - severity.text.length))
  const snippet = cutText(finding.snippet, share - severity.text.length - detector.text.length)
  const { symbol } = severityOf(finding)
  const lines: Inline[][] = [
    ...(severity.text === '' ? [] : [[words(`${symbol} Severity: `), bold(severity.text)]]),
    ...(detector.text === '' ? [] : [[words('Detector: '), words(detector.text)]]),
    ...(snippet.text === '' ? [] : [[words('Snippet: '), code(snippet.text)]]),
  ]
  const tail = missing(severity.left + detector.left + snippet.left)
  return [...(lines.length > 0 ? [quote(...lines)] : []), ...tail]
}

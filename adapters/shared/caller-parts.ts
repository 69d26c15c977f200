import type { CardFinding, CardRow, CardView } from '../../src/domain/card-view.ts'
import { cutText, fairShares, more } from '../../src/domain/cut-text.ts'
import {
  bold,
  type CardPart,
  code,
  italic,
  ours,
  type Piece,
  preformatted,
  quote,
  words,
} from './card-parts.ts'

/** Slack's limit for one text; a longer value would bury the others in any case. */
const PIECE_LENGTH = 3000
const LABEL_LENGTH = 100
const SEVERITY_LENGTH = 40
const SHORT_LENGTH = 80

/** How much of the caller's text a card shows: characters in total, rows, findings. */
export interface BoxSize {
  characters: number
  rows: number
  findings: number
}

/** Draws the first of these sizes that fits, or the last if none does. */
export function largestThatFits<Size, Drawn>(
  [first, ...smaller]: readonly [Size, ...Size[]],
  draw: (size: Size) => Drawn,
  fits: (drawn: Drawn) => boolean,
): Drawn {
  let drawn = draw(first)
  for (const size of smaller) {
    if (fits(drawn)) break
    drawn = draw(size)
  }
  return drawn
}

/** The share of the space left by the action that is kept for fields the interface names: others cannot crowd them out. */
const NAMED_SHARE = 0.7

/** The caller's text, between a line of ours that names its author and another line of ours that ends it. */
export interface CallerParts {
  action: CardPart[]
  /** Empty when the caller gave nothing else, or nothing else may be shown. */
  details: CardPart[]
  /** Our line that ends the caller's text; undefined where none is needed. */
  end?: string
}

/**
 * Frames the caller's text between two lines of ours, so that anything it claims ("High impact", "Verified") is visibly the
 * caller's (T44). Text that does not fit is counted.
 */
export function callerParts(view: CardView, size: BoxSize): CallerParts {
  const share = Math.min(view.action.length, Math.floor(size.characters / 2))
  const title = ours([
    bold('Requested action'),
    italic(' · written by the caller, not checked by Countersign'),
  ])
  const action = [title, ...framed(view.action, share)]
  const details = detailParts(view, size, size.characters - share)
  if (details.length > 0) return { action, details, end: 'End of the caller’s text' }
  const bare = view.status.kind === 'pending' && view.audience === 'approver'
  return { action, details, ...(bare ? { end: 'The caller gave no further details.' } : {}) }
}

function detailParts(view: CardView, size: BoxSize, budget: number): CardPart[] {
  const rows = view.rows.slice(0, size.rows)
  const known = rows.filter((row) => row.known)
  const others = rows.filter((row) => !row.known)
  const findings = gravest(view.findings, size.findings)
  const named = [...known.map(rowLength), ...findings.map(findingLength)]
  const shares = fairShares(named, Math.floor(budget * (others.length > 0 ? NAMED_SHARE : 1)))
  const rest = fairShares(others.map(rowLength), budget - shares.reduce((sum, share) => sum + share, 0))
  return [
    ...(known.length > 0 ? [ours([bold('Details'), italic(' · written by the caller')])] : []),
    ...known.flatMap((row, index) => rowParts(row, shares[index] ?? 0)),
    ...findingsParts(view, findings, shares.slice(known.length)),
    ...(others.length > 0 ? [ours([bold('Other fields'), italic(' · supplied by caller')])] : []),
    ...others.flatMap((row, index) => rowParts(row, rest[index] ?? 0)),
    ...missing(view.rows.length - rows.length, 'field', 'fields'),
  ]
}

/** Puts a text in the frame. Our own line below the frame says how much is missing. */
export function framed(text: string, max: number): CardPart[] {
  if (text === '') return [quote([italic('empty text')])]
  const cut = cutText(text, max)
  return [...(cut.text === '' ? [] : [quote([words(cut.text)])]), ...missing(cut.left)]
}

/** Counts what is missing, in our words and outside the frame. */
function missing(count: number, one?: string, many?: string): CardPart[] {
  if (count === 0) return []
  const line = [italic(`${more(count, one, many)} on the approval page`)]
  return [{ kind: 'ours', lines: [line], omits: true }]
}

function rowLength({ label, known, text }: CardRow): number {
  return pieceLength(text) + (known ? 0 : label.length)
}

function pieceLength(text: string): number {
  return Math.min(text.length, PIECE_LENGTH)
}

/**
 * Draws one field. A short value stands beside its label. A longer or multi-line value, which could imitate our lines,
 * stands alone below its label: our labels are above the frame, field names chosen by the caller inside it.
 */
function rowParts(row: CardRow, share: number): CardPart[] {
  const name = row.known ? { text: row.label, left: 0 } : cutText(row.label, Math.min(LABEL_LENGTH, share))
  const cut = cutText(row.text, Math.min(share - (row.known ? 0 : name.text.length), PIECE_LENGTH))
  const label = name.text === '' ? italic('empty name') : code(name.text)
  const beside = row.known ? [bold(`${name.text}: `)] : [label, words(': ')]
  const above = row.known ? ours([bold(name.text)]) : quote([label])
  return [...valueParts(row, cut.text, beside, above), ...missing(cut.left + name.left)]
}

function valueParts(
  { code: isCode, text }: CardRow,
  shown: string,
  beside: Piece[],
  above: CardPart,
): CardPart[] {
  if (text === '') return [quote([...beside, italic('empty text')])]
  if (shown === '') return [above]
  const value = isCode ? code(shown) : words(shown)
  if (shown === text && text.length <= SHORT_LENGTH && !text.includes('\n')) {
    return [quote([...beside, value])]
  }
  return [above, isCode && shown.includes('\n') ? preformatted(shown) : quote([value])]
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

const UNKNOWN_SEVERITY = { rank: 3, symbol: '•' }

function severityOf({ severity }: CardFinding): { rank: number; symbol: string } {
  const word = severity.toLowerCase()
  return (Object.hasOwn(SEVERITIES, word) ? SEVERITIES[word] : undefined) ?? UNKNOWN_SEVERITY
}

/** Says how much the caller wrote besides the action; undefined when there is nothing, or this reader may not see it. */
export function contextWords({ rows, findings }: CardView): string | undefined {
  const known = gravest(findings, 1)[0]?.severity.toLowerCase() ?? ''
  const gravity = Object.hasOwn(SEVERITIES, known) ? `, gravest: ${known}` : ''
  const counts = [
    ...(rows.length === 0 ? [] : [rows.length === 1 ? '1 field' : `${rows.length} fields`]),
    ...(findings.length === 0 ? [] : [`${counted(findings)}${gravity}`]),
  ]
  return counts.length === 0 ? undefined : counts.join(' · ')
}

function counted({ length }: readonly CardFinding[]): string {
  return length === 1 ? '1 risk finding' : `${length} risk findings`
}

/** Keeps the gravest findings where not all fit: eight harmless findings must not hide a grave ninth. */
function gravest(findings: readonly CardFinding[], most: number): CardFinding[] {
  if (findings.length <= most) return [...findings]
  return [...findings].sort((a, b) => severityOf(a).rank - severityOf(b).rank).slice(0, most)
}

function findingLength({ detector, severity, snippet }: CardFinding): number {
  return pieceLength(detector) + pieceLength(severity) + pieceLength(snippet)
}

function findingsParts(view: CardView, shown: CardFinding[], shares: number[]): CardPart[] {
  if (shown.length === 0) return []
  return [
    ours([bold('Risk findings')]),
    ...shown.flatMap((finding, index) => findingParts(finding, shares[index] ?? 0)),
    ...missing(view.findings.length - shown.length, 'finding, not graver,', 'findings, none graver,'),
  ]
}

function findingParts(finding: CardFinding, share: number): CardPart[] {
  const severity = cutText(finding.severity, Math.min(SEVERITY_LENGTH, share))
  const detector = cutText(finding.detector, Math.min(LABEL_LENGTH, share - severity.text.length))
  const snippet = cutText(
    finding.snippet,
    Math.min(share - severity.text.length - detector.text.length, PIECE_LENGTH),
  )
  const known = severityOf(finding)
  // Only severities in our own list are bold: a caller must not be able to imitate our lines.
  const word = known === UNKNOWN_SEVERITY ? words(severity.text) : bold(severity.text)
  const lines: Piece[][] = [
    ...(severity.text === '' ? [] : [[words(`${known.symbol} Severity: `), word]]),
    ...(detector.text === '' ? [] : [[words('Detector: '), words(detector.text)]]),
    ...(snippet.text === '' ? [] : [[words('Snippet: '), code(snippet.text)]]),
  ]
  const tail = missing(severity.left + detector.left + snippet.left)
  return [...(lines.length > 0 ? [quote(...lines)] : []), ...tail]
}

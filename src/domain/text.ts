import { codePointName, hiddenFlags } from './text-hidden.ts'

export { mixedScriptWarning } from './text-scripts.ts'

/** Whether a caller's text may be stored at all; `reason` is a sentence part, `codePoint` is named as `U+0000`. */
export type TextCheck = { ok: true } | { ok: false; reason: string; codePoint: string }

/** A piece of a text as it is shown. Labels are ours: renderers set them apart from the caller's text. */
export type Segment =
  | { kind: 'text'; text: string }
  | { kind: 'hidden'; label: string; codePoint: string; count: number }
  | { kind: 'newlines'; count: number; label: string }

/** What no honest text holds, and what would be stored, signed or drawn differently somewhere. */
const REFUSED: readonly { pattern: RegExp; reason: string }[] = [
  { pattern: /\p{Surrogate}/u, reason: 'is half of a surrogate pair' },
  { pattern: /(?![\t\n])\p{Cc}/u, reason: 'is a control character (only line feed and tab are allowed)' },
  { pattern: /\p{Noncharacter_Code_Point}/u, reason: 'is a noncharacter' },
  { pattern: /[\u{e0000}-\u{e007f}]/u, reason: 'is an invisible tag character' },
]

/** More blanks than this in a row push text out of sight. */
const MAX_BLANKS = 16
/** One empty line is layout; more pushes text out of a card. */
const MAX_NEWLINES = 2

/** Refuses ill-formed text and characters without an honest use. Everything else is stored unchanged and shown by `visibleText`. */
export function checkCallerText(text: string): TextCheck {
  for (const { pattern, reason } of REFUSED) {
    const found = pattern.exec(text)
    if (found) return { ok: false, reason, codePoint: codePointName(found[0]) }
  }
  return { ok: true }
}

/** Length in Unicode code points, as the limit on `action` counts it. */
export function codePointLength(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

/**
 * Splits a text into what is seen and what would not be: every hidden or misleading character becomes a label, more than
 * two line breaks in a row become one label with their number. Works for refused characters too. Nothing is left out.
 */
export function visibleText(text: string): Segment[] {
  const characters = [...text]
  const hidden = hiddenFlags(characters)
  const segments: Segment[] = []
  let at = 0
  while (at < characters.length) {
    const { segment, length } = hidden[at] ? hiddenRun(characters, hidden, at) : plainRun(characters, at)
    at += length
    const last = segments.at(-1)
    if (segment.kind === 'text' && last?.kind === 'text') last.text += segment.text
    else segments.push(segment)
  }
  return segments
}

/** True when the shown text has at least one hidden-character label: the "hidden characters" warning. */
export function hasHidden(text: string): boolean {
  return visibleText(text).some((segment) => segment.kind === 'hidden')
}

/** `visibleText` as one string, for places that know only plain text. */
export function visibleString(text: string): string {
  return visibleText(text)
    .map((segment) => (segment.kind === 'text' ? segment.text : segment.label))
    .join('')
}

interface Run {
  segment: Segment
  /** Characters it stands for. */
  length: number
}

/** Repetitions of one hidden character share a label, `[U+2800][×70]`, so that padding cannot flood the view either. */
function hiddenRun(characters: readonly string[], hidden: readonly boolean[], at: number): Run {
  const character = characters[at] ?? ''
  const codePoint = codePointName(character)
  let count = 1
  while (hidden[at + count] && characters[at + count] === character) count += 1
  const label = count === 1 ? `[${codePoint}]` : `[${codePoint}][×${count}]`
  return { segment: { kind: 'hidden', label, codePoint, count }, length: count }
}

function plainRun(characters: readonly string[], at: number): Run {
  const character = characters[at] ?? ''
  if (character === '\n') return newlineRun(characters, at)
  if (character === ' ' || character === '\t') return blankRun(characters, at)
  return { segment: { kind: 'text', text: character }, length: 1 }
}

/** Lines that hold only blanks count as empty. */
function newlineRun(characters: readonly string[], at: number): Run {
  let count = 0
  let length = 0
  for (let next = at; isLayout(characters[next]); next += 1) {
    if (characters[next] !== '\n') continue
    count += 1
    length = next - at + 1
  }
  if (count > MAX_NEWLINES)
    return { segment: { kind: 'newlines', count, label: `[${count} line breaks]` }, length }
  return { segment: { kind: 'text', text: characters.slice(at, at + length).join('') }, length }
}

function blankRun(characters: readonly string[], at: number): Run {
  let length = 0
  while (characters[at + length] === ' ' || characters[at + length] === '\t') length += 1
  const run = characters.slice(at, at + length)
  if (length <= MAX_BLANKS) return { segment: { kind: 'text', text: run.join('') }, length }
  const label = `[${length} ${run.includes('\t') ? 'spaces and tabs' : 'spaces'}]`
  return {
    segment: { kind: 'hidden', label, codePoint: codePointName(run[0] ?? ' '), count: length },
    length,
  }
}

function isLayout(character: string | undefined): boolean {
  return character === '\n' || character === ' ' || character === '\t'
}

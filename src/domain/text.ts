import { turnsAlone } from './text-direction.ts'

/** A piece of a text as it is shown. Labels are ours: renderers set them apart from the caller's text. */
export type Segment =
  | { kind: 'text'; text: string }
  | { kind: 'hidden'; label: string; codePoint: string; count: number }
  | { kind: 'newlines'; count: number; label: string }

/** Most blanks in a row that are shown as they are: more push text out of sight. */
const MAX_BLANKS = 16
/** One empty line is layout; more of them push text out of a card. */
const MAX_NEWLINES = 2

/**
 * Splits a text into visible and invisible parts: every hidden or misleading character becomes a label, and more than
 * two line breaks in a row become one label with their number. Labels refused characters as well. Nothing is left out.
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

/** Checks whether a text has nothing to see: only blanks, and characters that are not drawn. */
export function showsNothing(text: string): boolean {
  if (/[!-~]/.test(text)) return false
  return visibleText(text).every((segment) => segment.kind !== 'text' || segment.text.trim() === '')
}

/** Checks whether a text has at least one hidden-character label, and so gets the "hidden characters" warning. */
export function hasHidden(text: string): boolean {
  return visibleText(text).some((segment) => segment.kind === 'hidden')
}

/** Joins `visibleText` into one string, for places that take only plain text. */
export function visibleString(text: string): string {
  return visibleText(text)
    .map((segment) => (segment.kind === 'text' ? segment.text : segment.label))
    .join('')
}

/** Returns a name as one line of visible text: a line break in it could fake a line of ours. */
export function visibleLine(name: string): string {
  return visibleString(name).replace(/\s+/g, ' ')
}

interface Run {
  segment: Segment
  /** Number of characters that the segment stands for. */
  length: number
}

/** Gives repetitions of one hidden character a single label, `[U+2800][×70]`, so that padding cannot flood the view. */
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

/** Reads a run of line breaks. Lines that hold only blanks count as empty. */
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

/** Names a code point for people: `U+202E`. Takes one character or one lone surrogate. */
export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/**
 * Characters drawn as nothing, as a gap, as a change of direction, or as whatever a font likes: control, format, private-use
 * and unassigned characters (but not emoji newer than this table), separators, every space but U+0020, fillers, Braille
 * blank, the half fill and the Egyptian blanks, the musical null notehead, the object placeholder, and characters that a
 * renderer may ignore by default.
 */
const NEVER_PLAIN =
  /^(?:(?![\t\n])\p{Cc}|\p{Cs}|\p{Co}|(?!\p{Extended_Pictographic})\p{Cn}|\p{Cf}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|[\u2800\u303f\ufffc\u{13441}\u{13442}\u{1d159}])$/u

/** Format characters that are drawn: Arabic, Syriac and Kaithi number signs (Prepended_Concatenation_Mark). */
const DRAWN_FORMAT = /^[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]$/u

const JOIN_CONTROL = /^[\u200c\u200d]$/
const PRESENTATION = /^[\ufe0e\ufe0f]$/
const PICTOGRAPH = /^\p{Extended_Pictographic}$/u
const EMOJI = /^(?![0-9#*])\p{Emoji}$/u
const EMOJI_END = /^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f)$/u
const KEYCAP_BASE = /^[0-9#*]$/
const KEYCAP = '\u20e3'
const MARK = /^\p{M}$/u
/** Strikes and frames: they cross out or frame the letter before them, so that "do not pay" can look deleted. */
const OVERLAY = /^(?:\p{Me}|[\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb])$/u

/** Scripts whose spelling needs ZWJ and ZWNJ between letters (RFC 5892 appendix A, Unicode chapters 9, 12 and 13). */
const JOINING_SCRIPTS = 'Arab Syrc Mand Nkoo Mong Rohg Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh'
const JOINING = new RegExp(
  `^[${JOINING_SCRIPTS.split(' ')
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join('')}]$`,
  'u',
)
const LETTER_OR_MARK = /^[\p{L}\p{M}]$/u

/** Most marks that one letter carries in any living spelling; more are drawn over the neighbouring lines ("Zalgo"). */
const MAX_MARKS = 3

/**
 * Tells for each character whether it must be shown by name. One pass, because marks and joiners are judged by the
 * characters before and after them.
 */
function hiddenFlags(characters: readonly string[]): boolean[] {
  const flags: boolean[] = []
  let marks = 0
  let firstMark = 0
  let hasBase = false
  characters.forEach((character, index) => {
    const before = flags[index - 1] ? '' : (characters[index - 1] ?? '')
    const after = characters[index + 1] ?? ''
    if (isUsefulJoiner(character, before, after) || isUsefulSelector(character, before, after)) {
      flags.push(false)
      return
    }
    if (MARK.test(character) && !NEVER_PLAIN.test(character)) {
      marks += 1
      if (marks === 1) firstMark = index
      if (marks === MAX_MARKS + 1) flags.fill(true, firstMark)
      hasBase &&= marks <= MAX_MARKS && !isStrike(character, before, characters[index - 2] ?? '')
      flags.push(!hasBase)
      return
    }
    const hidden =
      (NEVER_PLAIN.test(character) && !DRAWN_FORMAT.test(character)) || turnsAlone(character, before, after)
    marks = 0
    // A mark needs a visible letter before it: after a blank or one of our labels, it would be drawn on that.
    hasBase = !hidden && !/\s/.test(character)
    flags.push(hidden)
  })
  return flags
}

function isUsefulJoiner(character: string, before: string, after: string): boolean {
  if (!JOIN_CONTROL.test(character)) return false
  if (character === '\u200d' && EMOJI_END.test(before) && PICTOGRAPH.test(after)) return true
  return [before, after].every((side) => JOINING.test(side) && LETTER_OR_MARK.test(side))
}

function isUsefulSelector(character: string, before: string, after: string): boolean {
  if (!PRESENTATION.test(character)) return false
  return EMOJI.test(before) || (KEYCAP_BASE.test(before) && after === KEYCAP)
}

function isStrike(character: string, before: string, beforeThat: string): boolean {
  if (!OVERLAY.test(character)) return false
  if (character === KEYCAP)
    return !KEYCAP_BASE.test(before) && !(before === '\ufe0f' && KEYCAP_BASE.test(beforeThat))
  // A strike that composes into one character is honest: "≠" may be spelled "=" and U+0338.
  return [...(before + character).normalize('NFC')].length !== 1
}

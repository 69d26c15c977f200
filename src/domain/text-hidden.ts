/** A code point as it is named to people: `U+202E`. Takes one character or one lone surrogate. */
export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/**
 * Drawn as nothing, as a gap, as a change of direction, or as whatever a font likes: control, format, private-use and
 * unassigned characters (but not emoji newer than this table), separators, every space but U+0020, fillers, Braille
 * blank, the musical null notehead, the object placeholder, and what a renderer may ignore by default.
 */
const NEVER_PLAIN =
  /^(?:(?![\t\n])\p{Cc}|\p{Cs}|\p{Co}|(?!\p{Extended_Pictographic})\p{Cn}|\p{Cf}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|[\u2800\ufffc\u{1d159}])$/u

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
/** Strikes and frames: they cross out the letter before them, so that "do not pay" can look deleted. */
const OVERLAY = /^(?:\p{Me}|[\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb])$/u

/** Scripts whose spelling needs ZWJ and ZWNJ between letters (RFC 5892 appendix A, Unicode chapters 9, 12 and 13). */
const JOINING = new RegExp(
  `^(?:${[
    'Arab',
    'Syrc',
    'Mand',
    'Nkoo',
    'Mong',
    'Rohg',
    'Deva',
    'Beng',
    'Guru',
    'Gujr',
    'Orya',
    'Taml',
    'Telu',
    'Knda',
    'Mlym',
    'Sinh',
  ]
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join('|')})$`,
  'u',
)
const LETTER_OR_MARK = /^[\p{L}\p{M}]$/u

/** Most marks one letter carries in any living spelling; more is drawn over the neighbouring lines ("Zalgo"). */
const MAX_MARKS = 3

/**
 * For each character, whether it must be shown by name. One pass, because marks and joiners are judged by what is
 * before and after them.
 */
export function hiddenFlags(characters: readonly string[]): boolean[] {
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
    const hidden = NEVER_PLAIN.test(character) && !DRAWN_FORMAT.test(character)
    marks = 0
    // A mark after a blank or after our own label would be drawn on that: it needs a visible letter before it.
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
  // "≠" may be spelled "=" and U+0338.
  return [...(before + character).normalize('NFC')].length !== 1
}

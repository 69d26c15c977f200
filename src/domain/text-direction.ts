/** Unicode's blocks for right-to-left writing and for Arabic digits, whose groups change places as well (UAX #9, §3.2). */
const TURNED = '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]'
const LETTER = `(?:(?!\\p{Nd})${TURNED})`
/** Words of one phrase stay together; groups of digits do not. */
const RUNS = new RegExp(`(${LETTER}+(?: ${LETTER}+)*|${TURNED}+)`, 'u')
const SIGN = new RegExp(`(?=[\\p{P}\\p{S}])${TURNED}`, 'u')
const WRITTEN = new RegExp(`(?=[\\p{L}\\p{M}\\p{N}])${TURNED}`, 'u')

/** A part of a text that is read in one direction; `turned`: from right to left. */
export interface Directed {
  text: string
  turned: boolean
}

/** Splits a text into its parts, in the order in which it is stored and signed; joined, they are the text again. */
export function directions(text: string): Directed[] {
  // `split` puts the captured runs at the odd indexes.
  const parts = text.split(RUNS).map((part, index) => ({ text: part, turned: index % 2 === 1 }))
  return parts.filter((part) => part.text !== '')
}

/**
 * Detects a text with parts of both directions: without a single control character, a renderer makes its numbers and words
 * change places (`A → B` reads `B → A`). `left`: most of the text is read from left to right.
 * @returns undefined when the text has only one direction
 */
export function mixedDirection(text: string): 'left' | 'right' | undefined {
  if (!RUNS.test(text)) return undefined
  const written = { left: 0, right: 0 }
  for (const part of directions(text))
    written[part.turned ? 'right' : 'left'] += part.text.match(/[\p{L}\p{N}]/gu)?.length ?? 0
  if (written.left === 0 && !/\p{N}/u.test(text)) return undefined
  return written.left < written.right ? 'right' : 'left'
}

/** Checks for a sign, such as U+05C3 (it looks like a colon), that turns the text around it without a letter of its script. */
export function turnsAlone(character: string, before: string, after: string): boolean {
  return SIGN.test(character) && !WRITTEN.test(before) && !WRITTEN.test(after)
}

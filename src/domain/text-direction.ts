/** What is read from right to left, and Arabic digits, whose groups change places as well: Unicode's blocks for them (UAX #9, §3.2). */
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

/** The parts of a text in the order in which it is stored and signed; put together they are the text. */
export function directions(text: string): Directed[] {
  // What a group catches stands at the odd places.
  const parts = text.split(RUNS).map((part, index) => ({ text: part, turned: index % 2 === 1 }))
  return parts.filter((part) => part.text !== '')
}

/**
 * Does a text have parts of both directions, so that a renderer makes numbers and words change places (`A → B` reads `B → A`)
 * without a single control character? `left`: those that are read from left to right are the larger part.
 */
export function mixedDirection(text: string): 'left' | 'right' | undefined {
  if (!RUNS.test(text)) return undefined
  const written = { left: 0, right: 0 }
  for (const part of directions(text))
    written[part.turned ? 'right' : 'left'] += part.text.match(/[\p{L}\p{N}]/gu)?.length ?? 0
  if (written.left === 0 && !/\p{N}/u.test(text)) return undefined
  return written.left < written.right ? 'right' : 'left'
}

/** A sign that turns what stands around it, such as U+05C3, which looks like a colon, without a letter of its writing beside it. */
export function turnsAlone(character: string, before: string, after: string): boolean {
  return SIGN.test(character) && !WRITTEN.test(before) && !WRITTEN.test(after)
}

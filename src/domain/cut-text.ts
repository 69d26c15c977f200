/** The beginning of a text, and how many characters (code points) of it are missing. */
export interface Cut {
  text: string
  left: number
}

/** Characters that must not end a cut text: half a surrogate pair, and joiners and blanks, which would be invisible. */
const LEFT_OVER = /^(?:[\ud800-\udbff]|\u200d|\s)$/

/** Characters given up at most, so that no word is cut. */
const LONGEST_REST = 16

/** Cuts a text to at most `max` UTF-16 units, as Slack counts, between characters. */
export function cutText(text: string, max: number): Cut {
  if (text.length <= max) return { text, left: 0 }
  const most = Math.max(0, max)
  // The last word is left out if only a part of it fits. A longer word is cut, or little would be left.
  const blank = /\s\S*$/.exec(text.slice(Math.max(0, most - LONGEST_REST), most + 1))
  let end = blank === null || most <= 2 * LONGEST_REST ? most : Math.max(0, most - LONGEST_REST) + blank.index
  while (end > 0 && LEFT_OVER.test(text.charAt(end - 1))) end -= 1
  const shown = text.slice(0, end)
  return { text: shown, left: [...text.slice(shown.length)].length }
}

/** Says how much was cut: "… 1 240 more characters". Nothing is cut without it. */
export function more(count: number, one = 'character', many = 'characters'): string {
  return `… ${spaced(count)} more ${count === 1 ? one : many}`
}

/** Puts a name or an id on one line of at most `max` UTF-16 units, plus a count of the characters that were cut. */
export function shortLine(text: string, max: number): string {
  const cut = cutText(text.replace(/\s+/g, ' ').trim(), max)
  return cut.left === 0 ? cut.text : `${cut.text} ${more(cut.left)}`
}

/** Separates thousands by blanks: 1 240. */
function spaced(count: number): string {
  const digits = String(count)
  const head = digits.length % 3 || 3
  const groups = [digits.slice(0, head)]
  for (let at = head; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3))
  return groups.join(' ')
}

/**
 * Divides `budget` among texts of these lengths: short ones get all they need, the long ones equal shares of the rest,
 * so that one long value cannot push the others out.
 */
export function fairShares(lengths: readonly number[], budget: number): number[] {
  const shares = lengths.map(() => 0)
  const byLength = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length)
  let rest = Math.max(0, budget)
  byLength.forEach(({ length, index }, position) => {
    const share = Math.min(length, Math.floor(rest / (byLength.length - position)))
    shares[index] = share
    rest -= share
  })
  return shares
}

/** Every character that is, or looks like, a double quotation mark. */
const QUOTATION_MARKS = /["“”„‟«»〝〞〟＂″‶]/g

/** Puts a text on one line between quotation marks. Marks inside the text are replaced, so it cannot end the quotation (T41). */
export function quoted(text: string, max: number): string {
  const { text: shown, left } = cutText(unquoted(text), max)
  return `“${shown}”${left === 0 ? '' : ` ${more(left)}`}`
}

/** Puts a text on one line, with its double quotation marks replaced by apostrophes. */
export function unquoted(text: string): string {
  return text.replace(QUOTATION_MARKS, "'").replace(/\s+/g, ' ').trim()
}

/**
 * Defuses a text for notifications and screen readers, where markup cannot be switched off: it can form no emoji, address,
 * code or bold text (T41). Each platform also removes its own brackets.
 */
export function unmarked(text: string): string {
  // A blank breaks markup that works only as one word: `:tada:`, `https://…`, `*High*`. Code may hold blanks, so backticks go.
  return text.replaceAll('`', "'").replace(/([:*_~])(?=\S)/g, '$1 ')
}

/** The beginning of a text, and how many characters (code points) of it are missing. */
export interface Cut {
  text: string
  left: number
}

/** What must not stand at the end: half a surrogate pair, and joiners and blanks, which would be invisible. */
const LEFT_OVER = /^(?:[\ud800-\udbff]|\u200d|\s)$/

/** Cuts a text to at most `max` UTF-16 units, as Slack counts, between characters. */
export function cutText(text: string, max: number): Cut {
  if (text.length <= max) return { text, left: 0 }
  let end = Math.max(0, max)
  while (end > 0 && LEFT_OVER.test(text.charAt(end - 1))) end -= 1
  const shown = text.slice(0, end)
  return { text: shown, left: [...text.slice(shown.length)].length }
}

/** "… 1 240 more characters": nothing is cut without saying how much. */
export function more(count: number, one = 'character', many = 'characters'): string {
  return `… ${spaced(count)} more ${count === 1 ? one : many}`
}

/** A text of one line at most `max` long, with a count of what is missing: names, ids. */
export function shortLine(text: string, max: number): string {
  const cut = cutText(text.replace(/\s+/g, ' ').trim(), max)
  return cut.left === 0 ? cut.text : `${cut.text} ${more(cut.left)}`
}

/** Thousands apart, as people read them: 1 240. */
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

/** Everything that is, or looks like, a quotation mark. */
const QUOTATION_MARKS = /["“”„‟«»〝〞〟＂″‶]/g

/** A text of one line between quotation marks, the only ones: what it holds cannot end them (T41). */
export function quoted(text: string, max: number): string {
  const { text: shown, left } = cutText(unquoted(text), max)
  return `“${shown}”${left === 0 ? '' : ` ${more(left)}`}`
}

/** A text of one line without quotation marks. */
export function unquoted(text: string): string {
  return text.replace(QUOTATION_MARKS, "'").replace(/\s+/g, ' ').trim()
}

/**
 * A text for notifications and screen readers, where markup cannot be switched off: no emoji, address, code or bold text can
 * be made of it (T41). Each platform also takes its own brackets away.
 */
export function unmarked(text: string): string {
  // A blank ends what only works as one word: `:tada:`, `https://…`, `*High*`. Code may hold blanks.
  return text.replaceAll('`', "'").replace(/([:*_~])(?=\S)/g, '$1 ')
}

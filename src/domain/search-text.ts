/** Longest text to search for, in UTF-16 units. */
export const LONGEST_SEARCH = 200

/** One spelling for texts that differ in case only. Never a pattern: what comes from outside has no special characters. */
export function foldText(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/** Does the text hold what is searched for (already folded)? */
export function holdsText(text: string, folded: string): boolean {
  return foldText(text).includes(folded)
}

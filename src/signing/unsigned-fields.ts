import { shortLine } from '../domain/cut-text.ts'
import { visibleString } from '../domain/text.ts'
import type { VerifyResult } from './verify-core.ts'

/** Returns the names of the fields next to a receipt and its votes that are not signed, each once. */
export function unsignedFields(results: readonly VerifyResult[]): string[] {
  return [...new Set(results.flatMap((result) => (result.valid ? (result.unsignedFields ?? []) : [])))]
}

/** The most names that `unsignedWords` lists, and characters of each: whoever passes the receipt on chooses them. */
const [MOST_NAMES, NAME_LENGTH] = [8, 40]

/** Names what is next to a receipt and its votes without being signed, in visible form; undefined if nothing is. */
export function unsignedWords(results: readonly VerifyResult[]): string | undefined {
  const names = unsignedFields(results)
  const shown = names
    .slice(0, MOST_NAMES)
    .map((name) => JSON.stringify(shortLine(visibleString(name), NAME_LENGTH)))
  const left = names.length - shown.length
  if (names.length === 0) return undefined
  return left === 0 ? shown.join(', ') : `${shown.join(', ')} and ${left} more`
}

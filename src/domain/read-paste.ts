import { parseJson, parseUnambiguous } from './parse-json.ts'

/** In UTF-16 units. Longer than any answer of ours: a context has 64 KiB at most. */
const LONGEST = 300_000

/** Quotation marks that writing aids put in place of `"`, and blanks that JSON does not allow. */
const SMART_QUOTES = /[\u201c\u201d\u201e\u00ab\u00bb]/g
const ODD_BLANKS = /[\u00a0\u2007\u202f\u200b\ufeff]/g

/**
 * Reads JSON that a person pasted into a chat or a page. Text that is no JSON is read again after undoing what a chat client
 * may have done to it. The result still has to pass every check, so the worst this can do is refuse a good receipt.
 * @param longest in UTF-16 units; longer texts are not read at all
 * @returns undefined for text that is no JSON object either way, or that names a member twice
 */
export function readPaste(text: string, longest = LONGEST): object | undefined {
  if (text.length > longest) return undefined
  const typed =
    parseJson(text) === undefined ? text.replace(SMART_QUOTES, '"').replace(ODD_BLANKS, ' ') : text
  const value = parseUnambiguous(typed)
  return value !== null && typeof value === 'object' ? value : undefined
}

import { codePointName } from './text.ts'

/** Whether a caller's text may be stored at all; `reason` is part of a sentence, `codePoint` has the form `U+0000`. */
export type TextCheck = { ok: true } | { ok: false; reason: string; codePoint: string }

/** Characters that no honest text holds, or that some system would store, sign or draw differently. */
const REFUSED: readonly { pattern: RegExp; reason: string }[] = [
  { pattern: /\p{Surrogate}/u, reason: 'is half of a surrogate pair' },
  { pattern: /(?![\t\n])\p{Cc}/u, reason: 'is a control character (only line feed and tab are allowed)' },
  { pattern: /\p{Noncharacter_Code_Point}/u, reason: 'is a noncharacter' },
  { pattern: /[\u{e0000}-\u{e007f}]/u, reason: 'is an invisible tag character' },
]

/** Refuses ill-formed text and characters without an honest use. All else is stored unchanged and shown by `visibleText`. */
export function checkCallerText(text: string): TextCheck {
  for (const { pattern, reason } of REFUSED) {
    const found = pattern.exec(text)
    if (found) return { ok: false, reason, codePoint: codePointName(found[0]) }
  }
  return { ok: true }
}

/** Says, as the end of a sentence, what is wrong with a short name that a person gives. Such names are shown as they are. */
export function shortNameFault(name: string): string | undefined {
  if (codePointLength(name) > 80) return 'must not exceed 80 characters'
  return checkCallerText(name).ok && !/[\n\t]/.test(name)
    ? undefined
    : 'must be one line without control characters'
}

/** Most characters of a comment on a decision. */
export const COMMENT_LENGTH = 1_000

/** Says, as the end of a sentence, what is wrong with the comment on a decision. */
export function commentFault(comment: string): string | undefined {
  if (codePointLength(comment) > COMMENT_LENGTH) return `must not exceed ${COMMENT_LENGTH} characters`
  return checkCallerText(comment).ok ? undefined : 'must not contain control or invisible tag characters'
}

/** Counts Unicode code points, as the limit on `action` does. */
export function codePointLength(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

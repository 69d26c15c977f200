import { codePointName } from './text.ts'

/** Whether a caller's text may be stored at all; `reason` is part of a sentence, `codePoint` has the form `U+0000`. */
export type TextCheck = { ok: true } | { ok: false; reason: string; codePoint: string }

/** Characters that no honest text holds, or that some system would store, sign or draw differently. */
const SURROGATE = /\p{Surrogate}/u
const CONTROL = /(?![\t\n])\p{Cc}/u
const NONCHARACTER = /\p{Noncharacter_Code_Point}/u
const TAG = /[\u{e0000}-\u{e007f}]/u

/** The same with the reasons; apart, since pages do not show them. */
const REFUSED = (): [RegExp, reason: string][] => [
  [SURROGATE, 'is half of a surrogate pair'],
  [CONTROL, 'is a control character (only line feed and tab are allowed)'],
  [NONCHARACTER, 'is a noncharacter'],
  [TAG, 'is an invisible tag character'],
]

function isAllowed(text: string): boolean {
  return ![SURROGATE, CONTROL, NONCHARACTER, TAG].some((pattern) => pattern.test(text))
}

/** Refuses ill-formed text and characters without an honest use. All else is stored unchanged and shown by `visibleText`. */
export function checkCallerText(text: string): TextCheck {
  for (const [pattern, reason] of REFUSED()) {
    const found = pattern.exec(text)
    if (found) return { ok: false, reason, codePoint: codePointName(found[0]) }
  }
  return { ok: true }
}

/** Says, as the end of a sentence, what is wrong with a short name that a person gives. Such names are shown as they are. */
export function shortNameFault(name: string): string | undefined {
  if (codePointLength(name) > 80) return 'must not exceed 80 characters'
  return isAllowed(name) && !/[\n\t]/.test(name) ? undefined : 'must be one line without control characters'
}

/** Most characters of a comment on a decision. */
export const COMMENT_LENGTH = 1_000

/** Says, as the end of a sentence, what is wrong with the comment on a decision. */
export function commentFault(comment: string): string | undefined {
  if (codePointLength(comment) > COMMENT_LENGTH) return `must not exceed ${COMMENT_LENGTH} characters`
  return isAllowed(comment) ? undefined : 'must not contain control or invisible tag characters'
}

/** Counts Unicode code points, as the limit on `action` does. */
export function codePointLength(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

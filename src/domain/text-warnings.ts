import { hasHidden } from './text.ts'
import { mixedDirection } from './text-direction.ts'
import { mixedScriptWarning } from './text-scripts.ts'

/** What an approver should know about the letters of a caller's text. */
export interface TextWarnings {
  /** The text holds normally invisible characters; they are shown in brackets. */
  hidden_characters: boolean
  /** Part of the text is read from right to left, so a chat app may draw it in another order. */
  two_directions?: true
  /** Our first warning about letters that pass for others. It quotes a word of the caller. */
  look_alike?: string
}

/** Judges texts together (T43). */
export function textWarnings(texts: readonly string[]): TextWarnings {
  const turned = texts.some((text) => mixedDirection(text) !== undefined)
  const hidden = { hidden_characters: texts.some(hasHidden), ...(turned && { two_directions: turned }) }
  for (const text of texts) {
    const sentence = mixedScriptWarning(text)
    if (sentence !== undefined) return { ...hidden, look_alike: sentence }
  }
  return hidden
}

/** The names of the warnings that apply, as the beginning of a notification: `⚠️ Look-alike letters. `, or nothing. Our words alone. */
export function warningPrefix({
  hidden_characters,
  two_directions,
  look_alike,
}: Partial<TextWarnings>): string {
  const titles = [
    ...(hidden_characters ? ['Hidden characters'] : []),
    ...(two_directions ? ['Two directions'] : []),
    ...(look_alike === undefined ? [] : ['Look-alike letters']),
  ]
  return titles.length === 0 ? '' : `⚠️ ${titles.join('. ')}. `
}

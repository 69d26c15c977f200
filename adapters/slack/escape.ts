import { plainName } from '../../src/domain/cut-text.ts'

/** Slack's three control characters as it wants them in `mrkdwn` and in the top-level `text` (docs.slack.dev, "Formatting message text"). */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const ESCAPED: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' }

/** What somebody typed, from what Slack made of these three characters; once, so that typed `&lt;` stays `&lt;`. */
export function unescapeText(text: string): string {
  return text.replace(/&(?:amp|lt|gt);/g, (escaped) => ESCAPED[escaped] ?? escaped)
}

/**
 * A name for the top-level `text`, which notifications show and where markup cannot be switched off: no mention, link,
 * emoji, code or bold text can be made of it (T41). Leave a blank after it.
 */
export function fallbackName(name: string): string {
  return escapeMrkdwn(plainName(name))
}

/** Slack's three control characters as it wants them in `mrkdwn` and in the top-level `text` (docs.slack.dev, "Formatting message text"). */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const NAME_LENGTH = 80

/**
 * A name for the top-level `text`, which notifications show and where markup cannot be switched off: no mention, link,
 * emoji, code or bold text can be made of it (T41). Leave a blank after it.
 */
export function fallbackName(name: string): string {
  const shown = [...name]
  const short = shown.length > NAME_LENGTH ? `${shown.slice(0, NAME_LENGTH).join('')}…` : name
  // A blank ends what only works as one word: `:tada:`, `https://…`, `*High*`. Code may hold blanks.
  return escapeMrkdwn(short.replaceAll('`', "'").replace(/([:*_~])(?=\S)/g, '$1 '))
}

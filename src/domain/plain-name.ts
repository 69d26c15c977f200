const NAME_LENGTH = 80

/**
 * A name for notifications and for the answers to screen readers, where markup cannot be switched off: no emoji, address,
 * code or bold text can be made of it (T41). Each platform also takes its own brackets away. Leave a blank after it.
 */
export function plainName(name: string): string {
  const shown = [...name]
  const short = shown.length > NAME_LENGTH ? `${shown.slice(0, NAME_LENGTH).join('')}…` : name
  // A blank ends what only works as one word: `:tada:`, `https://…`, `*High*`. Code may hold blanks.
  return short.replaceAll('`', "'").replace(/([:*_~])(?=\S)/g, '$1 ')
}

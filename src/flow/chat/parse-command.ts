import { ID_BYTES } from '../../domain/identifier.ts'

/** The subject of a `verify`. */
export type Asked =
  | { kind: 'request' | 'decision'; id: string }
  /** Text that looks like JSON; the reader finds out whether it is. */
  | { kind: 'receipt'; text: string }
  | { kind: 'nothing' }
  | { kind: 'other' }

/** Every command, in the one grammar of all platforms. */
export type Command =
  | {
      verb: 'verify'
      asked: Asked
      share: boolean
      /** Set when `/verify` was typed instead of the general command; answers then name it so. */
      slash?: true
    }
  | {
      verb: 'help' | 'unknown' | 'pending' | 'link' | 'unlink' | 'browser' | 'channel'
      /** Set when words follow a command that takes none, perhaps the name of another person or channel. */
      more?: true
    }

const PLAIN_VERBS = ['help', 'pending', 'link', 'unlink', 'browser', 'channel'] as const

/**
 * Reads a command as people type it and chat clients send it: any case, a slash or our name in front, odd blanks, ids in back
 * ticks, quotes or angle brackets, receipts in code fences. Words after a command that takes none change nothing; `more` reports
 * them. Never throws.
 * @param baseUrl the service's public origin: links to its approval pages are read as ids. Links to another site are not: the
 * answer about a request would seem to be about that site's page.
 */
export function parseCommand(text: string, baseUrl = ''): Command {
  const typed = stripEnds(text, isBlank)
  const said = typed.replace(/^\/(?:countersign\b)?\s*/i, '')
  if (said === '') return { verb: 'help' }
  const [, word = '', rest = ''] = /^(\p{L}+)(.*)$/su.exec(said) ?? []
  const verb = word.toLowerCase()
  if (verb === 'verify') return readVerify(rest, baseUrl, /^\/verify/i.test(typed))
  const known = PLAIN_VERBS.find((one) => one === verb)
  if (known === undefined) return { verb: 'unknown' }
  return /[\p{L}\p{N}]/u.test(rest) ? { verb: known, more: true } : { verb: known }
}

/** `share` as the last word, also directly after the characters that close a pasted text. */
const SHARE = /(?<=^|[\s}`>"'’”])share$/i

function readVerify(rest: string, baseUrl: string, slash: boolean): Command {
  const said = stripEnds(rest, isBlank)
  if (/^help$/i.test(said)) return { verb: 'help' }
  const asked = readAsked(withoutPage(unwrap(said.replace(SHARE, '')), baseUrl))
  return { verb: 'verify', asked, share: SHARE.test(said), ...(slash ? { slash } : {}) }
}

/** Returns the id in the address of one of our approval pages, as people copy it from a card; any other text unchanged. */
function withoutPage(text: string, baseUrl: string): string {
  const page = `${baseUrl}/a/`
  return baseUrl !== '' && text.startsWith(page) ? text.slice(page.length).replace(/[?#].*$/s, '') : text
}

/** One word that is an id, whole or cut off. */
const ID = new RegExp(`^(req|dec)_\\w{0,${2 * ID_BYTES}}$`, 'i')

function readAsked(text: string): Asked {
  if (text === '') return { kind: 'nothing' }
  if (text.startsWith('{')) return { kind: 'receipt', text }
  const prefix = ID.exec(text)?.[1]?.toLowerCase()
  if (prefix === undefined) return { kind: 'other' }
  // Ids are lower case; phones capitalise the first letter.
  return { kind: prefix === 'req' ? 'request' : 'decision', id: text.toLowerCase() }
}

const OPENING = new Set('<"“”„«\'‘’‚‹')
const CLOSING = new Set('>"“”»\'‘’›')

/** The most layers of quoting that are removed; people and chat clients add them. */
const MOST_LAYERS = 4

function unwrap(text: string): string {
  let inner = withoutEnd(text)
  for (let layer = 0; layer < MOST_LAYERS; layer += 1) {
    if (inner.startsWith('`')) inner = withoutEnd(stripEnds(inner, isTick).replace(/^json\b/i, ''))
    else if (inner.length > 1 && OPENING.has(inner.charAt(0)) && CLOSING.has(inner.charAt(inner.length - 1)))
      inner = withoutEnd(inner.slice(1, -1))
    else break
  }
  return inner
}

/** Removes a full stop at the end: it ends a sentence, never an id or a receipt. */
function withoutEnd(text: string): string {
  return stripEnds(stripEnds(text, isBlank).replace(/[.,;:!?]$/, ''), isBlank)
}

function isTick(character: string): boolean {
  return character === '`'
}

/** Invisible characters that copying leaves at the ends; no command contains them. */
const UNSEEN = new Set('\u200b\u200c\u200d\u2060')

function isBlank(character: string): boolean {
  return /\s/.test(character) || UNSEEN.has(character)
}

/** Strips both ends character by character: a regular expression for the end would try every start of a long text. */
function stripEnds(text: string, isStripped: (character: string) => boolean): string {
  let start = 0
  let end = text.length
  while (start < end && isStripped(text.charAt(start))) start += 1
  while (end > start && isStripped(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

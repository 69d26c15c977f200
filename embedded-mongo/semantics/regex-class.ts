import { type RegexSource, unsupported } from './regex-source.ts'

const posixClasses = new Map([
  ['alpha', 'A-Za-z'],
  ['digit', '0-9'],
  ['alnum', 'A-Za-z0-9'],
  ['upper', 'A-Z'],
  ['lower', 'a-z'],
  ['xdigit', 'A-Fa-f0-9'],
  ['space', '\\t-\\r '],
  ['blank', '\\t '],
  ['word', '\\w'],
  ['cntrl', '\\x00-\\x1f\\x7f'],
  ['print', '\\x20-\\x7e'],
  ['graph', '\\x21-\\x7e'],
  ['punct', '!-\\/:-@\\[-`\\{-~'],
])

/** Translates a bracketed class; the source stands just after its "[". Returns the JavaScript class. */
export function translateClass(source: RegexSource): string {
  let body = source.take('^') ? '[^' : '['
  // A "]" in first place is a literal to PCRE, and the end of the class to JavaScript.
  if (source.take(']')) body += '\\]'
  while (!source.take(']')) {
    if (source.atEnd()) throw unsupported('missing terminating ] for character class')
    const { text, isSet } = nextMember(source)
    body += text
    // PCRE reads "[\w-.]" as three members; JavaScript's unicode mode calls it a bad range.
    if (isSet && source.take('-')) body += '\\-'
  }
  return `${body}]`
}

function nextMember(source: RegexSource): { text: string; isSet: boolean } {
  const posix = source.takeMatch(/\[:(\^?)(\w+):\]/y)
  if (posix) {
    const members = posixClasses.get(posix[2] ?? '')
    if (members === undefined || posix[1]) throw unsupported(`class ${posix[0]}`)
    return { text: members, isSet: true }
  }
  const character = source.next()
  if (character === '\\') return classEscape(source)
  return { text: character === '[' ? '\\[' : character, isSet: false }
}

function classEscape(source: RegexSource): { text: string; isSet: boolean } {
  const character = source.next()
  if (character === 's') return { text: '\\t-\\r ', isSet: true }
  if (character === 'b') return { text: '\\x08', isSet: false }
  if ('dDwW'.includes(character)) return { text: `\\${character}`, isSet: true }
  return { text: translateCharacterEscape(character, source), isSet: false }
}

const namedCharacters = new Map([
  ['t', '\\t'],
  ['n', '\\n'],
  ['r', '\\r'],
  ['f', '\\f'],
  ['e', '\\x1b'],
  ['a', '\\x07'],
])

/** Translates an escape that stands for one character; `character` is the one after the backslash. */
export function translateCharacterEscape(character: string, source: RegexSource): string {
  const named = namedCharacters.get(character)
  if (named !== undefined) return named
  if (character === 'x') {
    const code = source.takeMatch(/\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2})/y)
    if (!code) throw unsupported('escape \\x')
    return `\\u{${code[1] ?? code[2]}}`
  }
  if (/[A-Za-z0-9]/.test(character)) throw unsupported(`escape \\${character}`)
  return quoteLiteral(character)
}

/** A character that stands for itself, inside and outside classes. */
export function quoteLiteral(character: string): string {
  return /[\^$\\.*+?()[\]{}|/-]/.test(character) ? `\\u{${character.charCodeAt(0).toString(16)}}` : character
}

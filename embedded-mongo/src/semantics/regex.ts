import { MongoError, mongoError } from './mongo-error.ts'

/** PCRE options MongoDB takes: case-insensitive, multi-line, dot-all, extended. */
interface Options {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
  readonly x: boolean
}

/**
 * Compiles a PCRE pattern with MongoDB's options (i, m, s, x, u) to a JavaScript expression of the same meaning.
 * The dialects differ in `.`, `$`, `\s`, line ends and escapes, so the pattern is translated, and what has no
 * translation is refused. Throws MongoError 51108 for a bad option, 51091 for a bad pattern, 2 for a NUL.
 */
export function compileRegex(pattern: string, options: string): RegExp {
  if (pattern.includes('\0'))
    throw mongoError('BadValue', 'Regular expression cannot contain an embedded null byte')
  for (const flag of options) {
    if (!'imsxu'.includes(flag)) throw new MongoError(51108, `invalid flag in regex options: ${flag}`)
  }
  const source = new RegexSource(pattern)
  const flags = options + (source.takeMatch(/\(\?([imsx]+)\)/y)?.[1] ?? '')
  const set = {
    i: flags.includes('i'),
    m: flags.includes('m'),
    s: flags.includes('s'),
    x: flags.includes('x'),
  }
  const translated = translate(source, set)
  try {
    return new RegExp(translated, set.i ? 'iu' : 'u')
  } catch {
    throw unsupported(`/${pattern}/`)
  }
}

function translate(source: RegexSource, options: Options): string {
  let output = ''
  while (!source.atEnd()) {
    if (options.x && source.takeMatch(/[\t-\r ]+|#[^\n]*\n?/y)) continue
    output += translateNext(source, options)
  }
  return output
}

function translateNext(source: RegexSource, options: Options): string {
  const quantifier = source.takeMatch(/(?:[*+?]|\{\d+(?:,\d*)?\})([?+]?)/y)
  if (quantifier) {
    if (quantifier[1] === '+') throw unsupported('possessive quantifiers')
    return quantifier[0]
  }
  const character = source.next()
  switch (character) {
    case '.':
      return options.s ? '[^]' : '[^\\n]'
    case '^':
      return options.m ? '(?:^|(?<=\\n)(?!$))' : '^'
    case '$':
      return options.m ? '(?=\\n|$)' : '(?=\\n?$)'
    case '[':
      return translateClass(source)
    case '(':
      return translateGroup(source)
    case '\\':
      return translateEscape(source)
    case '{':
    case '}':
    case ']':
      return `\\${character}`
    default:
      return character
  }
}

function translateGroup(source: RegexSource): string {
  if (source.take('?#')) {
    source.takeUntil(')')
    return ''
  }
  if (source.take('*')) throw unsupported('control verbs')
  const plain = source.takeMatch(/\?(?::|=|!|<=|<!)/y)
  if (plain) return `(${plain[0]}`
  const named = source.takeMatch(/\?P?<([A-Za-z_]\w*)>/y)
  if (named) return `(?<${named[1]}>`
  if (source.take('?')) throw unsupported('this kind of group')
  return '('
}

function translateEscape(source: RegexSource): string {
  if (source.take('Q')) return Array.from(source.takeUntil('\\E'), quoteLiteral).join('')
  if (source.take('E')) return ''
  const property = source.takeMatch(/[pP](?:\{\^?\w+\}|[A-Z])/y)
  if (property)
    return property[0].length === 2 ? `\\${property[0][0]}{${property[0][1]}}` : `\\${property[0]}`
  const reference = source.takeMatch(/[1-9]|k<\w+>/y)
  if (reference) return `\\${reference[0]}(?:)`
  const character = source.next()
  if ('dDwWbB'.includes(character)) return `\\${character}`
  if (character === 's') return '[\\t-\\r ]'
  if (character === 'S') return '[^\\t-\\r ]'
  if (character === 'A') return '^'
  if (character === 'z') return '$'
  if (character === 'Z') return '(?=\\n?$)'
  return translateCharacterEscape(character, source)
}

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
function translateClass(source: RegexSource): string {
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
function translateCharacterEscape(character: string, source: RegexSource): string {
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
function quoteLiteral(character: string): string {
  return /[\^$\\.*+?()[\]{}|/-]/.test(character) ? `\\u{${character.charCodeAt(0).toString(16)}}` : character
}

/** A cursor over a pattern, by code point. */
class RegexSource {
  readonly #pattern: string
  #position = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  atEnd(): boolean {
    return this.#position >= this.#pattern.length
  }

  /** The next code point, consumed; throws MongoError 51091 at the end. */
  next(): string {
    const point = this.#pattern.codePointAt(this.#position)
    if (point === undefined) throw unsupported('the pattern ends early')
    const character = String.fromCodePoint(point)
    this.#position += character.length
    return character
  }

  /** Consumes `text` if it comes next. */
  take(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#position)) return false
    this.#position += text.length
    return true
  }

  /** Consumes what a sticky expression matches here, if anything. */
  takeMatch(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.#position
    const match = sticky.exec(this.#pattern)
    if (match) this.#position += match[0].length
    return match
  }

  /** Consumes everything up to and including `text`, or to the end of the pattern; returns what came before it. */
  takeUntil(text: string): string {
    const found = this.#pattern.indexOf(text, this.#position)
    const stop = found === -1 ? this.#pattern.length : found
    const taken = this.#pattern.slice(this.#position, stop)
    this.#position = stop + (found === -1 ? 0 : text.length)
    return taken
  }
}

/** MongoDB's error for a pattern that does not compile; also ours for PCRE syntax this store does not translate. */
function unsupported(what: string): MongoError {
  return new MongoError(
    51091,
    `Regular expression is invalid or uses syntax this store does not support: ${what}`,
  )
}

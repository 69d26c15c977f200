import { MongoError, mongoError } from './mongo-error.ts'
import { quoteLiteral, translateCharacterEscape, translateClass } from './regex-class.ts'
import { RegexSource, unsupported } from './regex-source.ts'

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

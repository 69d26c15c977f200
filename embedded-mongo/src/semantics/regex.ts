import { MongoError, mongoError } from './mongo-error.ts'
import { literal, member, range } from './regex-case.ts'
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
 * The dialects differ in case, classes, back references, line ends and escapes, so the pattern is translated, and
 * what has no translation is refused. Throws MongoError 51108 for a bad option, 51091 for a bad pattern, 2 for a NUL.
 */
export function compileRegex(pattern: string, options: string): RegExp {
  if (pattern.includes('\0'))
    throw mongoError('BadValue', 'Regular expression cannot contain an embedded null byte')
  for (const flag of options) {
    if (!'imsxu'.includes(flag)) throw new MongoError(51108, `invalid flag in regex options: ${flag}`)
  }
  const source = new RegexSource(pattern)
  const flags = options + (source.takeMatch(/\(\?([imsx]+)\)/y)?.[1] ?? '')
  const translation = new Translation(source, {
    i: flags.includes('i'),
    m: flags.includes('m'),
    s: flags.includes('s'),
    x: flags.includes('x'),
  })
  const translated = translation.run()
  try {
    // Never with JavaScript's own "i": it also folds what PCRE does not, such as "\w" and "[[:alpha:]]".
    return new RegExp(translated, 'u')
  } catch {
    throw unsupported(`/${pattern}/`)
  }
}

/** An open group; the outermost is the pattern itself. */
interface Group {
  readonly kind: 'group' | 'ahead' | 'not-ahead' | 'behind' | 'not-behind'
  /** The number of its capture. */
  readonly capture: number | undefined
  /** The captures that are set wherever the current branch gets to. */
  readonly certain: Set<number>
  hasBranches: boolean
}

const groupKinds = new Map<string, Group['kind']>([
  ['?:', 'group'],
  ['?=', 'ahead'],
  ['?!', 'not-ahead'],
  ['?<=', 'behind'],
  ['?<!', 'not-behind'],
])

class Translation {
  readonly #source: RegexSource
  readonly #options: Options
  readonly #open: Group[] = []
  readonly #names = new Map<string, number>()
  #captures = 0
  #isZeroWidth = false
  /** The captures inside of what a quantifier that comes next repeats. */
  #repeatable: readonly number[] = []

  constructor(source: RegexSource, options: Options) {
    this.#source = source
    this.#options = options
  }

  run(): string {
    this.#openGroup('group', undefined)
    let output = ''
    while (!this.#source.atEnd()) {
      if (this.#options.x && this.#source.takeMatch(/[\t-\r \u0085\u200e\u200f\u2028\u2029]+|#[^\n]*\n?/y))
        continue
      output += this.#next()
    }
    if (this.#open.length > 1) throw unsupported('missing closing parenthesis')
    // V8 begins to search between the halves of a surrogate pair, where "\B" and a lookaround can hold.
    return this.#isZeroWidth ? `^[^]*?(?:${output})` : output
  }

  #next(): string {
    const quantifier = this.#source.takeMatch(/(?:[*+?]|\{(\d+)(?:,(\d*))?\})([?+]?)/y)
    if (quantifier) return this.#quantifier(quantifier)
    const character = this.#source.next()
    if (character === ')') return this.#closeGroup()
    const text = this.#item(character)
    if (text !== '') this.#repeatable = []
    return text
  }

  #item(character: string): string {
    switch (character) {
      case '.':
        return this.#options.s ? '[^]' : '[^\\n]'
      case '^':
        // A lookahead, since neither dialect repeats an assertion.
        return this.#options.m ? '(?=^|(?<=\\n)(?!$))' : '^'
      case '$':
        return this.#options.m ? '(?=\\n|$)' : '(?=\\n?$)'
      case '|':
        return this.#branch()
      case '[':
        return translateClass(this.#source, this.#options.i)
      case '(':
        return this.#group()
      case '\\':
        return this.#escape()
      default:
        return literal(character, this.#options.i)
    }
  }

  #quantifier([text, least, most, mode]: RegExpExecArray): string {
    if (mode === '+') throw unsupported('possessive quantifiers')
    if (Math.max(Number(least ?? 0), Number(most ?? 0)) > 65535)
      throw unsupported('a number too big in a quantifier')
    const isFixed = least !== undefined && most === undefined
    if (!isFixed && this.#isBehind()) throw unsupported('a lookbehind of no fixed length')
    // Where an iteration may be left out or be empty, the dialects keep different captures.
    if (!isFixed || Number(least) === 0)
      for (const capture of this.#repeatable) this.#current.certain.delete(capture)
    this.#repeatable = []
    return text
  }

  #branch(): string {
    const isNested = this.#open.slice(0, -1).some(({ kind }) => kind === 'behind' || kind === 'not-behind')
    if (isNested) throw unsupported('a lookbehind of no fixed length')
    this.#current.hasBranches = true
    this.#current.certain.clear()
    return '|'
  }

  #group(): string {
    if (this.#source.take('?#')) {
      if (this.#source.takeUntil(')') === undefined) throw unsupported('missing ) after a comment')
      return ''
    }
    if (this.#source.take('*')) throw unsupported('control verbs')
    const plain = this.#source.takeMatch(/\?(?:[:=!]|<[=!])/y)?.[0]
    if (plain !== undefined) {
      this.#isZeroWidth ||= plain !== '?:'
      this.#openGroup(groupKinds.get(plain) ?? 'group', undefined)
      return `(${plain}`
    }
    const name = this.#source.takeMatch(/\?P?<([A-Za-z_]\w{0,31})>/y)?.[1]
    if (name === undefined && this.#source.take('?')) throw unsupported('this kind of group')
    this.#captures += 1
    if (name !== undefined) {
      if (this.#names.has(name)) throw unsupported('two groups of one name')
      this.#names.set(name, this.#captures)
    }
    this.#openGroup('group', this.#captures)
    return '('
  }

  #openGroup(kind: Group['kind'], capture: number | undefined): void {
    this.#open.push({ kind, capture, certain: new Set(), hasBranches: false })
  }

  #closeGroup(): string {
    const group = this.#current
    this.#open.pop()
    if (this.#open.length === 0) throw unsupported('unmatched closing parenthesis')
    const isKept = !group.hasBranches && (group.kind === 'group' || group.kind === 'ahead')
    this.#repeatable = [
      ...(isKept ? group.certain : []),
      ...(group.capture === undefined ? [] : [group.capture]),
    ]
    for (const capture of this.#repeatable) this.#current.certain.add(capture)
    return ')'
  }

  get #current(): Group {
    const group = this.#open.at(-1)
    if (group === undefined) throw unsupported('unmatched closing parenthesis')
    return group
  }

  #isBehind(): boolean {
    return this.#open.some(({ kind }) => kind === 'behind' || kind === 'not-behind')
  }

  #escape(): string {
    const source = this.#source
    if (source.take('Q')) {
      return Array.from(source.takeUntil('\\E') ?? source.takeRest(), (each) =>
        literal(each, this.#options.i),
      ).join('')
    }
    if (source.take('E')) return ''
    const property = source.takeMatch(/([pP])(?:\{(\^?\w+)\}|([A-Z]))/y)
    if (property) return translateProperty(property)
    const reference = source.takeMatch(/([1-9]\d*)|k<(\w+)>/y)
    if (reference) return this.#reference(Number(reference[1] ?? this.#names.get(reference[2] ?? '') ?? 0))
    const character = source.next()
    this.#isZeroWidth ||= character === 'B'
    if ('dDwWbB'.includes(character)) return `\\${character}`
    const assertion = translatedEscapes.get(character)
    return assertion ?? literal(characterEscape(character, source), this.#options.i)
  }

  /** An unset group matches nothing in PCRE and the empty string in JavaScript, so only what is set can be referred to. */
  #reference(capture: number): string {
    const isCertain = this.#open.some(({ certain }) => certain.has(capture))
    if (isCertain && !this.#options.i && !this.#isBehind()) return `\\${capture}(?:)`
    throw unsupported(
      'a back reference to a group that need not be set, with "i" or in a lookbehind, or an octal code',
    )
  }
}

const translatedEscapes = new Map([
  ['s', '[\\t-\\r ]'],
  ['S', '[^\\t-\\r ]'],
  ['A', '^'],
  ['z', '$'],
  ['Z', '(?=\\n?$)'],
])

/** General categories, which both dialects have by the same names; JavaScript knows more properties than PCRE. */
const categories = /^(?:C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/

function translateProperty([, letter, long, short]: RegExpExecArray): string {
  const name = long ?? short ?? ''
  if (!categories.test(name)) throw unsupported(`property ${name}`)
  return `\\${letter}{${name}}`
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

/** What PCRE takes for a POSIX name, or refuses as one it does not have: "[:…:]", "[.….]", "[=…=]" without the bracket. */
const posixForm = /([:.=])(?:\\[\]\\]|(?!\1\])[^\]])*\1\]/y

/** Translates a bracketed class; the source stands just after its "[". Returns the JavaScript class. */
function translateClass(source: RegexSource, isCaseless: boolean): string {
  if (source.takeMatch(posixForm)) throw unsupported('a POSIX class outside of a class')
  let body = source.take('^') ? '[^' : '['
  // A "]" in first place is a literal to PCRE, and the end of the class to JavaScript.
  for (let isFirst = true; isFirst || !source.take(']'); isFirst = false) {
    if (source.atEnd()) throw unsupported('missing terminating ] for character class')
    const start = nextMember(source, isCaseless)
    if (!source.startsWith('-') || source.startsWith('-]')) {
      body += start.set ?? member(start.character, isCaseless)
      continue
    }
    source.take('-')
    const end = nextMember(source, isCaseless)
    if (start.set !== undefined || end.set !== undefined) throw unsupported('a range of sets')
    body += range(start.character, end.character, isCaseless)
  }
  return `${body}]`
}

type Member = { readonly set: string } | { readonly set?: undefined; readonly character: string }

function nextMember(source: RegexSource, isCaseless: boolean): Member {
  const posix = source.takeMatch(/\[:(\w+):\]/y)
  if (posix) {
    const isOfCase = posix[1] === 'upper' || posix[1] === 'lower'
    const set = posixClasses.get(isCaseless && isOfCase ? 'alpha' : (posix[1] ?? ''))
    if (set === undefined) throw unsupported(`class ${posix[0]}`)
    return { set }
  }
  const character = source.next()
  if (character === '[' && source.takeMatch(posixForm)) throw unsupported('this POSIX class')
  if (character !== '\\') return { character }
  const escaped = source.next()
  if (escaped === 's') return { set: '\\t-\\r ' }
  if (escaped === 'b') return { character: '\b' }
  return 'dDwW'.includes(escaped) ? { set: `\\${escaped}` } : { character: characterEscape(escaped, source) }
}

const namedCharacters = new Map([
  ['t', '\t'],
  ['n', '\n'],
  ['r', '\r'],
  ['f', '\f'],
  ['e', '\x1b'],
  ['a', '\x07'],
])

/** The character an escape stands for; `character` is the one after the backslash. */
function characterEscape(character: string, source: RegexSource): string {
  const named = namedCharacters.get(character)
  if (named !== undefined) return named
  if (character === 'x') {
    const code = source.takeMatch(/\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2})/y)
    const point = Number.parseInt(code?.[1] ?? code?.[2] ?? '', 16)
    const isCharacter = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
    if (!isCharacter) throw unsupported('escape \\x')
    return String.fromCodePoint(point)
  }
  if (/[A-Za-z0-9]/.test(character)) throw unsupported(`escape \\${character}`)
  return character
}

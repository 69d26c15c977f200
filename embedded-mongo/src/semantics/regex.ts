import { MongoError, mongoError } from './mongo-error.ts'

/** Literal characters, special ones escaped; a `^` in front anchors them at the start of the text. */
const LITERALS = /^(\^?)((?:[^\\^$.*+?()[\]{}|]|\\[^A-Za-z0-9])*)$/su

/**
 * Compiles a search for a literal text or prefix, with the option `i` (Unicode's simple folding, in PCRE as in JavaScript). Any
 * other pattern is refused: PCRE and JavaScript read it differently, and it may backtrack. Throws MongoError 2 for a NUL, 51108
 * for a bad option, 51091 for a refused pattern or option.
 */
export function compileRegex(pattern: string, options: string): RegExp {
  if (pattern.includes('\0'))
    throw mongoError('BadValue', 'Regular expression cannot contain an embedded null byte')
  for (const flag of options) {
    if (!'imsxu'.includes(flag)) throw new MongoError(51108, `invalid flag in regex options: ${flag}`)
  }
  const [, start, literals] = LITERALS.exec(pattern) ?? []
  if (start === undefined || literals === undefined || /[^i]/.test(options)) {
    throw new MongoError(
      51091,
      'Regular expression is invalid or not supported by this store, which takes literal characters, ' +
        '"^" in front and the option "i"',
    )
  }
  const text = literals.replace(/\\(.)/gsu, '$1').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(start + text, options.includes('i') ? 'iu' : 'u')
}

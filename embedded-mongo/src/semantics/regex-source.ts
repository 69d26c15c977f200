import { MongoError } from './mongo-error.ts'

/** A cursor over a pattern, by code point. */
export class RegexSource {
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

  startsWith(text: string): boolean {
    return this.#pattern.startsWith(text, this.#position)
  }

  /** Consumes `text` if it comes next. */
  take(text: string): boolean {
    if (!this.startsWith(text)) return false
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

  /** Consumes everything up to and including `text` and returns what came before it; undefined if it does not come. */
  takeUntil(text: string): string | undefined {
    const found = this.#pattern.indexOf(text, this.#position)
    if (found === -1) return undefined
    const taken = this.#pattern.slice(this.#position, found)
    this.#position = found + text.length
    return taken
  }

  takeRest(): string {
    const rest = this.#pattern.slice(this.#position)
    this.#position = this.#pattern.length
    return rest
  }
}

/** MongoDB's error for a pattern that does not compile; also ours for PCRE syntax this store does not translate. */
export function unsupported(what: string): MongoError {
  return new MongoError(
    51091,
    `Regular expression is invalid or uses syntax this store does not support: ${what}`,
  )
}

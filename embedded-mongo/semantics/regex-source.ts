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
export function unsupported(what: string): MongoError {
  return new MongoError(
    51091,
    `Regular expression is invalid or uses syntax this store does not support: ${what}`,
  )
}

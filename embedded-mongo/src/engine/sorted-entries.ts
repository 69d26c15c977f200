const CHUNK_LIMIT = 512

/** A position in {@link SortedEntries}: a chunk and an offset inside it. */
interface Position {
  chunk: number
  offset: number
}

interface Chunk<T> {
  keys: string[]
  values: T[]
}

/** A half-open or closed range of keys; an absent side is unbounded. */
export interface KeyRange {
  from?: string
  /** Exclusive upper end. */
  to?: string
}

/**
 * An ordered multimap from string keys to values, kept as a list of short sorted chunks: insertion,
 * removal and seek cost a binary search plus a move inside one chunk. Entries with equal keys are
 * ordered by `rank` (the age of the record), so every entry has exactly one place.
 */
export class SortedEntries<T> {
  readonly #chunks: Chunk<T>[] = []
  readonly #rank: (value: T) => number
  #size = 0

  constructor(rank: (value: T) => number) {
    this.#rank = rank
  }

  get size(): number {
    return this.#size
  }

  /** Adds an entry; the caller never adds the same key and value twice. */
  add(key: string, value: T): void {
    this.#size += 1
    if (this.#chunks.length === 0) {
      this.#chunks.push({ keys: [key], values: [value] })
      return
    }
    const { chunk: index, offset } = this.#seek(key, this.#rank(value))
    const at = index === this.#chunks.length ? index - 1 : index
    const chunk = this.#chunks[at]
    if (chunk === undefined) throw new RangeError('sorted entries: chunk out of range')
    const place = index === this.#chunks.length ? chunk.keys.length : offset
    chunk.keys.splice(place, 0, key)
    chunk.values.splice(place, 0, value)
    if (chunk.keys.length > CHUNK_LIMIT) this.#split(at, chunk, place)
  }

  /** Removes an entry; returns false if it was not there. */
  remove(key: string, value: T): boolean {
    const { chunk: index, offset } = this.#seek(key, this.#rank(value))
    const chunk = this.#chunks[index]
    if (chunk === undefined || chunk.keys[offset] !== key || chunk.values[offset] !== value) return false
    chunk.keys.splice(offset, 1)
    chunk.values.splice(offset, 1)
    if (chunk.keys.length === 0) this.#chunks.splice(index, 1)
    this.#size -= 1
    return true
  }

  /** The first value under exactly this key. */
  first(key: string): T | undefined {
    const { chunk: index, offset } = this.#seek(key, Number.NEGATIVE_INFINITY)
    const chunk = this.#chunks[index]
    return chunk !== undefined && chunk.keys[offset] === key ? chunk.values[offset] : undefined
  }

  /** About how many entries a range holds: exact inside one chunk, within a chunk otherwise. */
  estimate(range: KeyRange): number {
    const { start, end } = this.#span(range)
    if (end.chunk < start.chunk) return 0
    if (start.chunk === end.chunk) return Math.max(0, end.offset - start.offset)
    const first = (this.#chunks[start.chunk]?.keys.length ?? 0) - start.offset
    const between = end.chunk - start.chunk - 1
    return first + end.offset + between * (this.#size / this.#chunks.length)
  }

  /** Values of a range in key order. The structure must not change while this is being read. */
  *scan(range: KeyRange): Generator<T> {
    const { start, end } = this.#span(range)
    for (let index = start.chunk; index <= end.chunk; index += 1) {
      const chunk = this.#chunks[index]
      if (chunk === undefined) return
      const stop = index === end.chunk ? end.offset : chunk.values.length
      for (let offset = index === start.chunk ? start.offset : 0; offset < stop; offset += 1) {
        yield chunk.values[offset] as T
      }
    }
  }

  /** As {@link scan}, last key first. */
  *scanBackwards(range: KeyRange): Generator<T> {
    const { start, end } = this.#span(range)
    for (let index = Math.min(end.chunk, this.#chunks.length - 1); index >= start.chunk; index -= 1) {
      const chunk = this.#chunks[index]
      if (chunk === undefined) return
      const stop = index === start.chunk ? start.offset : 0
      for (
        let offset = (index === end.chunk ? end.offset : chunk.values.length) - 1;
        offset >= stop;
        offset -= 1
      ) {
        yield chunk.values[offset] as T
      }
    }
  }

  #span(range: KeyRange): { start: Position; end: Position } {
    return {
      start:
        range.from === undefined ? { chunk: 0, offset: 0 } : this.#seek(range.from, Number.NEGATIVE_INFINITY),
      end:
        range.to === undefined
          ? { chunk: this.#chunks.length, offset: 0 }
          : this.#seek(range.to, Number.NEGATIVE_INFINITY),
    }
  }

  /** The first place whose entry is not below (key, rank); the end if there is none. */
  #seek(key: string, rank: number): Position {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = this.#chunks[middle]
      if (chunk !== undefined && this.#below(chunk, chunk.keys.length - 1, key, rank)) low = middle + 1
      else high = middle
    }
    const chunk = this.#chunks[low]
    if (chunk === undefined) return { chunk: low, offset: 0 }
    let from = 0
    let to = chunk.keys.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.#below(chunk, middle, key, rank)) from = middle + 1
      else to = middle
    }
    return { chunk: low, offset: from }
  }

  #below(chunk: Chunk<T>, offset: number, key: string, rank: number): boolean {
    const other = chunk.keys[offset] as string
    return other < key || (other === key && this.#rank(chunk.values[offset] as T) < rank)
  }

  /** Appending (ever growing keys) leaves full chunks behind; other places split in half. */
  #split(index: number, chunk: Chunk<T>, place: number): void {
    const last = index === this.#chunks.length - 1 && place === chunk.keys.length - 1
    const at = last ? chunk.keys.length - 1 : chunk.keys.length >>> 1
    this.#chunks.splice(index + 1, 0, { keys: chunk.keys.splice(at), values: chunk.values.splice(at) })
  }
}

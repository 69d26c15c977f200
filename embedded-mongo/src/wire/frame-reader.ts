/** Limits announced by `hello`. */
export const MAX_MESSAGE_BYTES = 48_000_000
export const HEADER_BYTES = 16

/** One complete message of the wire protocol, header included. */
export interface Frame {
  requestId: number
  opCode: number
  bytes: Buffer
}

/** The header announces a length that no message can have, so the stream cannot be followed any further. */
export class FrameLengthError extends Error {
  readonly requestId: number
  constructor(length: number, requestId: number) {
    super(`recv(): message len ${length} is invalid. Min ${HEADER_BYTES} Max: ${MAX_MESSAGE_BYTES}`)
    this.requestId = requestId
  }
}

/**
 * Cuts a byte stream into frames. Memory grows with the bytes that have arrived, never with the
 * length a header claims, so a claimed 48 MB costs an attacker 48 MB.
 */
export class FrameReader {
  #chunks: Buffer[] = []
  #buffered = 0

  get buffered(): number {
    return this.#buffered
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
  }

  /**
   * Returns the next complete frame, or undefined until more bytes arrive.
   * @throws FrameLengthError when the header's length is outside 16 … 48 000 000.
   */
  next(): Frame | undefined {
    if (this.#buffered < HEADER_BYTES) return undefined
    const head = this.#head(HEADER_BYTES)
    const length = head.readInt32LE(0)
    const requestId = head.readInt32LE(4)
    if (length < HEADER_BYTES || length > MAX_MESSAGE_BYTES) throw new FrameLengthError(length, requestId)
    if (this.#buffered < length) return undefined
    const whole = this.#head(length)
    const bytes = whole.subarray(0, length)
    const rest = whole.subarray(length)
    this.#chunks.shift()
    if (rest.length > 0) this.#chunks.unshift(rest)
    this.#buffered -= length
    return { requestId, opCode: bytes.readInt32LE(12), bytes }
  }

  /** Joins just enough chunks for the first `length` bytes to be contiguous. */
  #head(length: number): Buffer {
    const first = this.#chunks[0]
    if (first !== undefined && first.length >= length) return first
    let count = 0
    let size = 0
    while (size < length) {
      size += this.#chunks[count]?.length ?? 0
      count += 1
    }
    const joined = Buffer.concat(this.#chunks.slice(0, count), size)
    this.#chunks.splice(0, count, joined)
    return joined
  }
}

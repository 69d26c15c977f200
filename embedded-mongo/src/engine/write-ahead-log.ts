import { readSync } from 'node:fs'

/** SQLite's write-ahead log (its "WAL-mode File Format"): a header, then frames, each a header and a page. */
const HEAD_BYTES = 32
const FRAME_HEAD_BYTES = 24
/** The value in the header that means checksums over big-endian words. */
const BIG_ENDIAN = 0x377f0683
const FRAMES_AT_ONCE = 64

/** The commits in the log since SQLite last restarted it. */
export interface Run {
  /** New for each run: the frames of an earlier run, which this one gradually overwrites, have other salts. */
  salts: Buffer
  /** The number of the last frame that ends a commit; 0 if there is none. */
  frames: number
  /** The number of pages in the file after that commit. */
  filePages: number
}

/** Follows the run beyond `from`, without checking checksums: this process wrote the frames itself. */
export function followRun(log: number, pageBytes: number, from: Run | undefined): Run | undefined {
  const salts = Buffer.alloc(8)
  if (readSync(log, salts, 0, 8, 16) < 8) return undefined
  const run = from?.salts.equals(salts) ? from : { salts, frames: 0, filePages: 0 }
  const head = Buffer.alloc(16)
  const isThere = (frame: number): boolean => {
    const got = readSync(log, head, 0, 16, HEAD_BYTES + (frame - 1) * (FRAME_HEAD_BYTES + pageBytes))
    return got === 16 && head.subarray(8).equals(salts)
  }
  for (let frame = lastOf(isThere, run.frames); frame > run.frames && isThere(frame); frame -= 1) {
    const filePages = head.readUInt32BE(4)
    if (filePages > 0) return { salts, frames: frame, filePages }
  }
  return run
}

/** Returns the last frame of a run. Its frames are contiguous, so not each has to be read. */
function lastOf(isThere: (frame: number) => boolean, known: number): number {
  let last = known
  let step = 1
  for (; isThere(last + step); step *= 2) last += step
  for (let beyond = last + step; beyond - last > 1; ) {
    const middle = Math.floor((last + beyond) / 2)
    if (isThere(middle)) last = middle
    else beyond = middle
  }
  return last
}

/** Reads the run as SQLite recovers it when it opens the file: up to the first frame whose checksum is wrong. */
export function checkRun(log: number, pageBytes: number): Run | undefined {
  const head = Buffer.alloc(HEAD_BYTES)
  readSync(log, head, 0, HEAD_BYTES, 0)
  const sum = new FrameSum(head.readUInt32BE(0) === BIG_ENDIAN)
  sum.add(head.subarray(0, 24))
  if (!sum.is(head.subarray(24))) return undefined
  const run: Run = { salts: head.subarray(16, 24), frames: 0, filePages: 0 }
  const frameBytes = FRAME_HEAD_BYTES + pageBytes
  const chunk = Buffer.alloc(FRAMES_AT_ONCE * frameBytes)
  for (let before = 0; ; before += FRAMES_AT_ONCE) {
    const got = readSync(log, chunk, 0, chunk.length, HEAD_BYTES + before * frameBytes)
    for (let index = 0; (index + 1) * frameBytes <= got; index += 1) {
      const frame = chunk.subarray(index * frameBytes, (index + 1) * frameBytes)
      sum.add(frame.subarray(0, 8))
      sum.add(frame.subarray(FRAME_HEAD_BYTES))
      if (!frame.subarray(8, 16).equals(run.salts) || !sum.is(frame.subarray(16, 24))) return run
      const filePages = frame.readUInt32BE(4)
      if (filePages > 0) Object.assign(run, { frames: before + index + 1, filePages })
    }
    if (got < chunk.length) return run
  }
}

/** Calls `look` with each page of a run once, as its newest frame has it. */
export function readRun(
  log: number,
  pageBytes: number,
  { frames }: Run,
  look: (number: number, page: Buffer) => void,
): void {
  const frameBytes = FRAME_HEAD_BYTES + pageBytes
  const chunk = Buffer.allocUnsafe(FRAMES_AT_ONCE * frameBytes)
  const seen = new Set<number>()
  for (let end = frames; end > 0; end -= FRAMES_AT_ONCE) {
    const first = Math.max(0, end - FRAMES_AT_ONCE)
    const got = readSync(log, chunk, 0, (end - first) * frameBytes, HEAD_BYTES + first * frameBytes)
    for (let at = got - (got % frameBytes) - frameBytes; at >= 0; at -= frameBytes) {
      const number = chunk.readUInt32BE(at)
      if (seen.has(number)) continue
      seen.add(number)
      look(number, chunk.subarray(at + FRAME_HEAD_BYTES, at + frameBytes))
    }
  }
}

/** The log's cumulative checksum: each frame's continues from the one before. */
class FrameSum {
  readonly #little: boolean
  #a = 0
  #b = 0

  constructor(bigEndian: boolean) {
    this.#little = !bigEndian
  }

  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let [a, b] = [this.#a, this.#b]
    for (let at = 0; at < bytes.length; at += 8) {
      a = (a + view.getUint32(at, this.#little) + b) | 0
      b = (b + view.getUint32(at + 4, this.#little) + a) | 0
    }
    this.#a = a
    this.#b = b
  }

  /** The sums themselves are always stored big-endian. */
  is(stored: Buffer): boolean {
    return stored.readInt32BE(0) === this.#a && stored.readInt32BE(4) === this.#b
  }
}

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { crc32 } from 'node:zlib'
import { StoreDamageError } from './file-errors.ts'
import { checkRun, followRun, type Run, readRun } from './write-ahead-log.ts'

/**
 * The head of the seal: this mark, whose last byte is the version of the seal (raised with every change, together with `FORMAT`
 * of `file-format.ts`), the salts of the log's run, the number of frames it must have, and a CRC-32 of these.
 */
const MARK = Buffer.from('CSseal\0\u0001')
const HEAD_BYTES = 24
/** Where the checksums of the pages begin, four bytes each. */
const SUMS_AT = 512
const CHUNK_PAGES = 128
/** The page with this byte is for SQLite's locks: it is never written and stores no data (SQLite's file format, 1.4). */
const LOCK_BYTE = 2 ** 30
/** Frames in the log at which a checkpoint is due. */
const LOG_FRAMES = 2000

/** Bytes of page 1 that opening and closing the file write past the log: journal mode, change counter, version. */
const PAST_LOG: readonly (readonly [from: number, to: number])[] = [
  [18, 20],
  [24, 28],
  [92, 100],
]

/**
 * The expected state of file and log, kept beside them: a checksum of each page of the file, and how far the log was
 * acknowledged. SQLite has neither: it silently drops everything after a bad frame of its log, and takes a flipped bit in a page
 * for data.
 *
 * The extent of the log is written after each commit and left to the operating system to make durable: after a power cut it may
 * be too low, never too high. The checksums are made durable before a checkpoint copies their pages from the log to the file;
 * until the checkpoint has done so, the log vouches for these pages.
 */
export class Seal {
  readonly #path: string
  readonly #pageBytes: number
  readonly #seal: number
  #log: number | undefined
  #run: Run | undefined
  /** Whether frames of a failed or interrupted commit may lie in the log after those of the next commit. */
  #doubtful: boolean

  private constructor(path: string, pageBytes: number, seal: number) {
    this.#path = path
    this.#pageBytes = pageBytes
    this.#seal = seal
    this.#doubtful = existsSync(logOf(path))
  }

  /**
   * Checks file and log against their seal, before SQLite touches either. The caller keeps other processes out and has no lock on
   * the file yet: closing any descriptor of the file would release that lock.
   * @returns undefined when there is no seal, because the file is new or was restored
   * @throws StoreFileError
   */
  static check(path: string, pageBytes: number): Seal | undefined {
    if (!existsSync(sealOf(path))) return undefined
    const seal = new Seal(path, pageBytes, openSync(sealOf(path), 'r+'))
    try {
      seal.#check()
      return seal
    } catch (error) {
      seal.close()
      throw error
    }
  }

  /** Whether the file has a seal in a form that only later versions know. */
  static isLater(path: string): boolean {
    if (!existsSync(sealOf(path))) return false
    const mark = Buffer.alloc(MARK.length)
    const seal = openSync(sealOf(path), 'r')
    readSync(seal, mark, 0, mark.length, 0)
    closeSync(seal)
    const version = MARK.length - 1
    return mark.subarray(0, version).equals(MARK.subarray(0, version)) && mark.compare(MARK) > 0
  }

  /**
   * Creates the seal of the file as it is: like {@link check} before SQLite touches it, or while new pages are only in its log.
   */
  static make(path: string, pageBytes: number): Seal {
    // Under another name until it is complete and durable: a process killed meanwhile must not leave half a seal.
    const beside = `${sealOf(path)}-new`
    const seal = new Seal(path, pageBytes, openSync(beside, 'w+', 0o600))
    try {
      const pages = seal.#filePages()
      const sums = Buffer.alloc(4 * pages)
      seal.#readPages(pages, (number, page) => sums.writeUInt32LE(sumOf(number, page), 4 * (number - 1)))
      writeSync(seal.#seal, sums, 0, sums.length, SUMS_AT)
      seal.#noteRun(undefined)
      fsyncSync(seal.#seal)
      renameSync(beside, sealOf(path))
      return seal
    } catch (error) {
      seal.close()
      rmSync(beside, { force: true })
      throw error
    }
  }

  /** Notes a commit. Never throws, since the commit is durable already. Returns whether a checkpoint is due. */
  note(): boolean {
    try {
      const log = this.#openLog()
      this.#run = log === undefined ? undefined : followRun(log, this.#pageBytes, this.#run)
      if (this.#run !== undefined && !this.#doubtful) this.#noteRun(this.#run)
    } catch {
      this.#doubtful = true
    }
    return this.#doubtful || (this.#run?.frames ?? 0) >= LOG_FRAMES
  }

  /** A commit failed: nothing is noted until the next checkpoint, since frames alone do not tell which part of the log counts. */
  doubt(): void {
    this.#doubtful = true
  }

  /** Notes the checksums of the pages that a checkpoint is going to write. */
  prepare(): void {
    const log = this.#openLog()
    if (log === undefined) return
    const run = this.#doubtful ? checkRun(log, this.#pageBytes) : this.#run
    if (run === undefined) return
    const sums = new Map<number, number>()
    let last = 0
    readRun(log, this.#pageBytes, run, (number, page) => {
      sums.set(number, sumOf(number, page))
      last = Math.max(last, number)
    })
    const all = this.#readSums(last)
    for (const [number, sum] of sums) all.writeUInt32LE(sum, 4 * (number - 1))
    writeSync(this.#seal, all, 0, all.length, SUMS_AT)
    fsyncSync(this.#seal)
  }

  /** Notes that the file has every page of the log, which may now restart or be removed. */
  folded(): void {
    this.#noteRun(undefined)
    fsyncSync(this.#seal)
    this.#doubtful = false
  }

  /** Closes the log, before the log is removed. */
  closeLog(): void {
    if (this.#log !== undefined) closeSync(this.#log)
    this.#log = undefined
  }

  close(): void {
    this.closeLog()
    closeSync(this.#seal)
  }

  /** Removes the seal, since the sealed file turned out not to be a store. */
  break(): void {
    this.close()
    rmSync(sealOf(this.#path), { force: true })
  }

  /** Removes the seal if SQLite folded pages it does not know; the next start then checks the whole file by SQLite's rules. */
  dropIfFolded(): void {
    if (!existsSync(logOf(this.#path))) rmSync(sealOf(this.#path), { force: true })
  }

  #noteRun(run: Run | undefined): void {
    const head = Buffer.alloc(HEAD_BYTES)
    MARK.copy(head)
    run?.salts.copy(head, 8)
    head.writeUInt32LE(run?.frames ?? 0, 16)
    head.writeUInt32LE(crc32(head.subarray(0, 20)), 20)
    writeSync(this.#seal, head, 0, HEAD_BYTES, 0)
  }

  #check(): void {
    const pages = this.#filePages()
    const log = this.#openLog()
    const run = log === undefined ? undefined : checkRun(log, this.#pageBytes)
    this.#checkHead(run)
    const vouched = new Set([LOCK_BYTE / this.#pageBytes + 1])
    if (log !== undefined && run !== undefined)
      readRun(log, this.#pageBytes, run, (number) => void vouched.add(number))
    const sums = this.#readSums(pages)
    const bad: number[] = []
    let should = run?.filePages ?? 0
    this.#readPages(pages, (number, page) => {
      if (!vouched.has(number) && sums.readUInt32LE(4 * (number - 1)) !== sumOf(number, page))
        bad.push(number)
      // Only a page that is as it was written can tell how many there are.
      else if (number === 1 && should === 0) should = page.readUInt32BE(28)
    })
    for (let number = pages + 1; number <= should; number += 1) if (!vouched.has(number)) bad.push(number)
    const [first, ...others] = bad
    if (first === undefined) return
    const what = `page ${first} does not match its checksum in ${sealOf(this.#path)}`
    throw this.#damage(others.length === 0 ? what : `${what}, nor do ${others.length} others`)
  }

  #checkHead(run: Run | undefined): void {
    const head = Buffer.alloc(HEAD_BYTES)
    readSync(this.#seal, head, 0, HEAD_BYTES, 0)
    if (!head.subarray(0, 8).equals(MARK) || head.readUInt32LE(20) !== crc32(head.subarray(0, 20)))
      throw this.#damage(`its seal ${sealOf(this.#path)} cannot be read`)
    const frames = head.readUInt32LE(16)
    if (frames === 0) return
    const there = run?.salts.equals(head.subarray(8, 16)) ? run.frames : 0
    if (there < frames)
      throw this.#damage(
        `its log ${logOf(this.#path)} holds ${there} of the ${frames} pages that were acknowledged, so the latest writes are lost`,
      )
  }

  #readSums(pages: number): Buffer {
    const sums = Buffer.alloc(4 * pages)
    readSync(this.#seal, sums, 0, sums.length, SUMS_AT)
    return sums
  }

  #filePages(): number {
    return Math.floor(bytesOf(this.#path) / this.#pageBytes)
  }

  #readPages(pages: number, look: (number: number, page: Buffer) => void): void {
    const file = openSync(this.#path, 'r')
    try {
      const chunk = Buffer.allocUnsafe(CHUNK_PAGES * this.#pageBytes)
      for (let before = 0; before < pages; before += CHUNK_PAGES) {
        const got = readSync(file, chunk, 0, chunk.length, before * this.#pageBytes)
        for (let at = 0; at + this.#pageBytes <= got; at += this.#pageBytes)
          look(before + at / this.#pageBytes + 1, chunk.subarray(at, at + this.#pageBytes))
      }
    } finally {
      closeSync(file)
    }
  }

  #openLog(): number | undefined {
    if (this.#log === undefined && existsSync(logOf(this.#path))) this.#log = openSync(logOf(this.#path), 'r')
    return this.#log
  }

  #damage(what: string): StoreDamageError {
    return new StoreDamageError(this.#path, what, { unlikeSeal: true })
  }
}

/** Returns the path of a file's seal. */
export function sealOf(path: string): string {
  return path.replace(/\.db$/, '.seal')
}

export function logOf(path: string): string {
  return `${path}-wal`
}

/** Returns the size of a file in bytes, 0 if it does not exist. */
export function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function sumOf(number: number, page: Buffer): number {
  if (number > 1) return crc32(page, number)
  const steady = Buffer.from(page)
  for (const [from, to] of PAST_LOG) steady.fill(0, from, to)
  return crc32(steady, number)
}

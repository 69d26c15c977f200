import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { Invalid } from '../src/errors.ts'

/** A file and what is in it. */
export interface HashedFile {
  /** Absolute. */
  path: string
  /** Hex; null for a file that cannot be read, or is larger than 256 MiB. */
  sha256: string | null
}

/** More files than anybody compares; and as many directories, or the last ones named would hide what is in them. */
const MOST = 40
const LARGEST = 256 * 1024 * 1024

/**
 * Finds the files that the text of a shell command names: scripts, programs by path, and files that they are given, from the
 * directory and from every directory that the text names too (`cd`, `-C`), one after the other. What the shell first puts together
 * (variables, patterns, the output of commands) names none, nor does a program found by PATH.
 * @param command its text, or its words
 * @throws Invalid for more than 40 files or directories
 */
export function hashNamedFiles(command: string | readonly string[], directory: string): HashedFile[] {
  const words = [command].flat().flatMap((text) => [text, ...wordsOf(text)])
  const bases = new Set([directory])
  for (const word of words)
    for (const base of [...bases])
      if (kindOf(base, word) === 'directory' && bases.add(at(base, word)).size > MOST)
        throw new Invalid(`it names more than ${MOST} directories.`)
  const paths = new Set<string>()
  for (const base of bases)
    for (const word of new Set(words)) if (kindOf(base, word) === 'file') paths.add(at(base, word))
  if (paths.size > MOST) throw new Invalid(`it names more than ${MOST} files.`)
  return [...paths].sort().map((path) => ({ path, sha256: hashFile(path) }))
}

/** Hashes a file by its name. @returns hex, null if it cannot be read or is larger than 256 MiB */
export function hashFile(path: string): string | null {
  let file: number | undefined
  try {
    // A pipe in place of the file would otherwise hold everything up until somebody writes into it.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    return hashOpenFile(file)
  } catch {
    return null
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Hashes a file that is open. @returns hex, null unless it is a file of at most 256 MiB */
export function hashOpenFile(file: number): string | null {
  const stat = fstatSync(file)
  if (!stat.isFile() || stat.size > LARGEST) return null
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(1 << 20)
  for (let position = 0; ; ) {
    const length = readSync(file, buffer, 0, buffer.length, position)
    if (length === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, length))
    position += length
  }
}

/** A word as a shell reads it, of parts with and without quotes. */
const WORD = /(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s;|&()<>"'\\])+/gs
const QUOTED = /"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs

/** Every text that may be a name: words, those in quoted ones, and what is between signs, `=`, `@` and `:`. Too many are no harm. */
function wordsOf(text: string): string[] {
  const line = text.replace(/\\\r?\n/g, '')
  const words = (line.match(WORD) ?? []).flatMap((quoted) => {
    const word = quoted.replace(
      QUOTED,
      (_, double, single, sign) => double?.replace(/\\(.)/gs, '$1') ?? single ?? sign,
    )
    return /[\s;|&()<>"'\\]/.test(word) ? [word, ...wordsOf(word)] : [word]
  })
  const pieces = [...words, ...line.split(/[\s;|&()<>`"'{}[\],]+/)].flatMap((word) => [
    word,
    ...word.split(/[=@:]/),
  ])
  const known = new Set(['', ...words])
  return [...words.filter((word) => word !== ''), ...new Set(pieces.filter((piece) => !known.has(piece)))]
}

function at(base: string, word: string): string {
  return resolve(base, word.replace(/^~(?=\/|$)/, homedir()))
}

function kindOf(base: string, word: string): 'file' | 'directory' | undefined {
  try {
    const stat = statSync(at(base, word), { throwIfNoEntry: false })
    return stat?.isFile() ? 'file' : stat?.isDirectory() ? 'directory' : undefined
  } catch {
    // Too long for a name, or below a file.
    return undefined
  }
}

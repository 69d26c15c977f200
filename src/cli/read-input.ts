import { createReadStream } from 'node:fs'
import { terminal, usageError } from './terminal.ts'

/** The most bytes of one receipt, bundle or key set. */
const MAX_BYTES = 1_048_576

/** Reads a file, or stdin for `-`. @throws CliError (usage) when it cannot be read or is larger than 1 MiB */
export async function readInput(path: string): Promise<string> {
  const name = nameOf(path)
  return readable(name, () => readAll(opened(path), name))
}

function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}

function opened(path: string): AsyncIterable<Uint8Array | string> {
  return path === '-' ? terminal().stdin : createReadStream(path)
}

async function readable<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error)
      throw usageError(
        `${name} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
      )
    throw error
  }
}

/** Reads a stream of UTF-8. @throws CliError (usage) */
export async function readAll(stream: AsyncIterable<Uint8Array | string>, name: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > MAX_BYTES) throw usageError(`${name} is larger than 1 MiB.`)
    chunks.push(bytes)
  }
  return textOf(Buffer.concat(chunks), name)
}

/** @param ignoreBOM keeps a leading U+FEFF in the text */
function textOf(bytes: Uint8Array, name: string, ignoreBOM = false): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM }).decode(bytes)
  } catch {
    throw usageError(`${name} is not UTF-8 text.`)
  }
}

/** A text of an input, and where it stood. */
export interface NamedText {
  name: string
  text: string
}

/**
 * Reads one text of each file, or of each line where the first line of a file is a whole one by itself. Nothing of a file is kept
 * but the line that is read. @throws CliError (usage)
 */
export async function* readTexts(
  paths: readonly string[],
  isWhole: (line: string) => boolean,
): AsyncGenerator<NamedText> {
  for (const path of paths) {
    const name = nameOf(path)
    const lines = readLines(opened(path), name)
    const first = (await readable(name, () => lines.next())).value ?? ''
    if (!isWhole(first)) {
      const rest = await readable(name, () => readAll(withNewlines(first, lines), name))
      yield { name, text: rest }
      continue
    }
    let number = 1
    let text: string | undefined = first
    for (; text !== undefined; number += 1) {
      const next: IteratorResult<string, void> = await readable(name, () => lines.next())
      const only = number === 1 && (next.done === true || next.value === '')
      if (text !== '') yield { name: only ? name : `${name}:${number}`, text }
      text = next.done === true ? undefined : next.value
    }
  }
}

async function* withNewlines(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  for await (const line of rest) yield `\n${line}`
}

async function* readLines(
  stream: AsyncIterable<Uint8Array | string>,
  name: string,
): AsyncGenerator<string, void> {
  let open: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    let left = Buffer.from(chunk)
    for (let end = left.indexOf(10); end >= 0; end = left.indexOf(10)) {
      yield textOf(Buffer.concat([...open, left.subarray(0, end)]), name, true)
      ;[open, size, left] = [[], 0, left.subarray(end + 1)]
    }
    size += left.length
    if (size > MAX_BYTES) throw usageError(`${name} is larger than 1 MiB.`)
    open.push(left)
  }
  yield textOf(Buffer.concat(open), name, true)
}

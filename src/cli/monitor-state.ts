import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../domain/parse-json.ts'
import { parseCheckpointText } from '../signing/log/checkpoint.ts'
import { parseNote } from '../signing/log/note.ts'
import { syncFolder } from './sync-folder.ts'
import { oneLine, usageError } from './terminal.ts'

/** What an earlier run saw. */
export interface State {
  origin: string
  size: number
  leaves: Uint8Array[]
}

const stateSchema = z.strictObject({ format: z.literal('countersign.monitor/v1'), checkpoint: z.string() })

/** Reads the file of `--state`. @returns undefined before the first run. @throws CliError (usage) */
export async function readState(path: string): Promise<State | undefined> {
  const text = await unlessMissing(readFile(path, 'utf8'))
  if (text === undefined) return undefined
  let file = leavesOf(path, '')
  try {
    const { checkpoint } = stateSchema.parse(parseJson(text))
    const { origin, size } = parseCheckpointText(parseNote(checkpoint).text)
    file = leavesOf(path, origin)
    const bytes = await readFile(file)
    // More were written by a run that ended before it could say so.
    if (bytes.length < size * 32) throw new Error('leaves are missing')
    const leaves = Array.from({ length: size }, (_, at) => bytes.subarray(at * 32, at * 32 + 32))
    return { origin, size, leaves }
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message) : ''
    throw usageError(
      `${path} and ${file} are no whole state of a monitor (${why}); put them back, or name a new --state file.`,
    )
  }
}

/** Reads the leaves that were seen of a log that ended. @returns none where there is no file */
export async function readLeaves(path: string, origin: string): Promise<Uint8Array[]> {
  const bytes = (await unlessMissing(readFile(leavesOf(path, origin)))) ?? Buffer.alloc(0)
  const size = Math.floor(bytes.length / 32)
  return Array.from({ length: size }, (_, at) => bytes.subarray(at * 32, at * 32 + 32))
}

/** The file with the leaves of a log: each log that goes on for another has its own, so that the old state is whole until the new one is. */
export function leavesOf(path: string, origin: string): string {
  const [, number] = /\/log\/([0-9]+)$/.exec(origin) ?? []
  return number === undefined ? `${path}.leaves` : `${path}.${number}.leaves`
}

/** First the leaves, then the checkpoint that counts them, by a rename: a run that dies between leaves the old state. */
export async function writeState(
  path: string,
  { origin, note, leaves }: Omit<State, 'size'> & { note: string },
  known: number,
): Promise<void> {
  const file = await open(leavesOf(path, origin), known === 0 ? 'w' : 'r+')
  try {
    const added = Buffer.concat(leaves.slice(known))
    await file.write(added, 0, added.length, known * 32)
    await file.sync()
  } finally {
    await file.close()
  }
  const aside = await open(`${path}.new`, 'w')
  try {
    await aside.writeFile(`${JSON.stringify({ format: 'countersign.monitor/v1', checkpoint: note })}\n`)
    await aside.sync()
  } finally {
    await aside.close()
  }
  await rename(`${path}.new`, path)
  await syncFolder(dirname(path))
}

/** Keeps a checkpoint that contradicts the state: with the one in there it is proof, since the log signed both. An older one is none. */
export async function keepEvidence(path: string, note: string): Promise<void> {
  await writeFile(`${path}.fork`, note)
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

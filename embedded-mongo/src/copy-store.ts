import { copyFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { storeFiles } from './data-directory.ts'
import { StoreFileError } from './engine/file-errors.ts'

/** A checkpoint writes page after page: a file that rested for so long is not in the middle of one. */
const RESTED_MS = 50
const TRIES = 40
const GAP_MS = 250

/**
 * Copies the files of a store, also while another process serves it, into an empty or new directory. What was acknowledged before
 * is in the copy. Only a checkpoint writes the file, and only after one the log begins again, so that a file and a log between
 * which none began are what a crash at the end of the copy would have left. The seal speaks of later writes and is left out.
 * Never in the process that serves the store: closing a file there would let go of its locks.
 * @throws StoreFileError
 */
export async function copyStore(dataDir: string, to: string): Promise<void> {
  const from = storeFiles(dataDir).database
  const target = storeFiles(to)
  const size = (await stat(from).catch(() => undefined))?.size ?? 0
  if (size === 0) throw new StoreFileError(`there is no store in ${resolve(dataDir)}`)
  await mkdir(target.directory, { recursive: true, mode: 0o700 })
  if ((await readdir(target.directory)).length > 0)
    throw new StoreFileError(`${target.directory} is not empty; name a new directory`)
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 0) await delay(GAP_MS)
    const before = await stateOf(from)
    if (before === undefined) continue
    await copyFile(from, target.database)
    await copyFile(logOf(from), logOf(target.database)).catch(() =>
      rm(logOf(target.database), { force: true }),
    )
    if ((await stateOf(from)) === before) return
  }
  await rm(target.directory, { recursive: true })
  throw new StoreFileError(
    `${from} was written to faster than it could be copied, ${TRIES} times; try again when less is asked of it`,
  )
}

function logOf(database: string): string {
  return `${database}-wal`
}

/** Changes with each checkpoint and each beginning of a log. @returns undefined where a checkpoint may be under way */
async function stateOf(database: string): Promise<string | undefined> {
  const { mtimeMs, size } = await stat(database)
  if (Date.now() - mtimeMs < RESTED_MS) return undefined
  return `${mtimeMs} ${size} ${await headOf(logOf(database))}`
}

/** The header of the log, with the salts of its run; nothing where there is no log. */
async function headOf(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0)
    return buffer.toString('hex', 0, bytesRead)
  } finally {
    await file.close()
  }
}

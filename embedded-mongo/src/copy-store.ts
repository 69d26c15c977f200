import { existsSync } from 'node:fs'
import { copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeDirectory, refuseLink, storeFiles } from './data-directory.ts'
import { explainFileError, StoreFileError } from './engine/file-errors.ts'
import { partOf } from './engine/open-file.ts'
import { logOf, sealOf } from './engine/seal.ts'

/** A checkpoint writes page after page: a file that nobody wrote for this long is not in the middle of one. */
const RESTED_MS = 50
const TRIES = 40
const GAP_MS = 250

/** What is done besides copying the files of the store. */
interface CopyOptions {
  /** Names of files of the data directory to copy, too, if they exist. */
  beside?: readonly string[]
  /** Works on the directory with the copied files before the copy gets its name. */
  finish?: (directory: string) => void
}

/**
 * Copies the files of a store, even while another process serves it, into an empty or new directory. Everything acknowledged
 * before is in the copy: only a checkpoint writes the file, and the log restarts only after one. If neither happened while both
 * were copied, the copy is what a crash at that moment would have left. The seal is left out, since it covers later writes. Never
 * call this in the process that serves the store: closing a file there would release its locks. The file gets its name last, when
 * it is finished and everything is durable, so that an interrupted copy is not taken for a complete one. A failed copy leaves
 * nothing in the directory.
 * @throws StoreFileError
 */
export async function copyStore(
  dataDir: string,
  to: string,
  { beside = [], finish }: CopyOptions = {},
): Promise<void> {
  const from = storeFiles(dataDir)
  const target = storeFiles(to)
  if ((await sizeOf(from.database)) === 0) throw new StoreFileError(`there is no store in ${from.directory}`)
  refuseLink(from)
  const entered = directoriesOf(target.directory)
  try {
    makeDirectory(target.directory)
  } catch (error) {
    throw explainFileError(error, target.database)
  }
  if (!(await stat(target.directory)).isDirectory())
    throw new StoreFileError(`${target.directory} is not a directory; name a new one`)
  const part = storeFiles(partOf(target.database))
  await reserve(part.directory)
  try {
    await copyAtRest(from.database, part.database, logOf(part.database))
    for (const name of beside) await copyIfThere(join(from.directory, name), join(target.directory, name))
    finish?.(part.directory)
    const copied = [part.directory, ...(await filesIn(part.directory)), ...(await filesIn(target.directory))]
    for (const path of copied) await makeDurable(path)
    for (const of of [logOf, sealOf]) await renameIfThere(of(part.database), of(target.database))
    await rename(part.database, target.database)
    await rm(part.directory, { recursive: true })
    if (process.platform !== 'win32') for (const directory of entered) await makeDurable(directory)
  } catch (error) {
    await emptyDirectory(target.directory)
    throw explainFileError(error, target.database)
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(directory, name))
}

async function renameIfThere(from: string, to: string): Promise<void> {
  if (existsSync(from)) await rename(from, to)
}

/** Bytes of a file, 0 if there is none. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0
    throw explainFileError(error, path)
  }
}

/** Takes the directory for one copy, made in the folder `part`: of two that begin at once, one fails here. @throws StoreFileError unless it is empty */
async function reserve(part: string): Promise<void> {
  const directory = dirname(part)
  try {
    await mkdir(part, { mode: 0o700 })
  } catch (error) {
    if (!existsSync(part)) throw explainFileError(error, part)
    throw new StoreFileError(notEmpty(directory))
  }
  if ((await readdir(directory)).length === 1) return
  await rm(part, { recursive: true })
  throw new StoreFileError(notEmpty(directory))
}

function notEmpty(directory: string): string {
  return `${directory} is not empty; name a new directory`
}

/** Removes the content of a directory, not the directory itself: it may be a mount point. */
async function emptyDirectory(directory: string): Promise<void> {
  for (const name of await readdir(directory))
    await rm(join(directory, name), { recursive: true, force: true })
}

async function copyAtRest(from: string, to: string, log: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 0) await delay(GAP_MS)
    const before = await stateOf(from)
    if (before === undefined) continue
    await copyFile(from, to)
    await rm(log, { force: true })
    await copyIfThere(logOf(from), log)
    if ((await stateOf(from)) === before) return
  }
  throw new StoreFileError(
    `${from} was written to faster than it could be copied, ${TRIES} times; try again when less is asked of it`,
  )
}

/** Copies a file if it exists. A log that could not be copied whole must not pass for one that does not exist. */
async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to)
  } catch (error) {
    if (existsSync(from)) throw error
  }
}

/** Returns a directory and, if it does not exist yet, its ancestors up to the first that does: they get new entries. */
function directoriesOf(directory: string): string[] {
  return existsSync(directory) ? [directory] : [directory, ...directoriesOf(dirname(directory))]
}

/** Makes the content of a file or the entries of a directory durable. Windows requires write access for this. */
async function makeDurable(path: string): Promise<void> {
  const file = await open(path, process.platform === 'win32' ? 'r+' : 'r')
  await file.sync().finally(() => file.close())
}

/**
 * Returns a state that changes with each checkpoint and each restart of the log.
 * @returns undefined while a checkpoint may be under way
 */
async function stateOf(database: string): Promise<string | undefined> {
  const { mtimeMs, size } = await stat(database)
  const age = Date.now() - mtimeMs
  if (age >= 0 && age < RESTED_MS) return undefined
  // The clock was set back since the last write: only waiting tells whether there is another.
  if (age < 0) {
    await delay(RESTED_MS)
    if ((await stat(database)).mtimeMs !== mtimeMs) return undefined
  }
  return `${mtimeMs} ${size} ${await headOf(logOf(database))}`
}

/** Reads the header of the log, with the salts of its run; '' if there is no log. */
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

import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'libsql'
import { explainFileError } from './file-errors.ts'
import { isOpenInLog } from './file-format.ts'
import { lock, OpenFile } from './open-file.ts'
import { bytesOf, logOf } from './seal.ts'

/**
 * A file that may be damaged, with its log, opened to be read: nothing is checked, and neither of the two is changed. Other
 * processes are kept out.
 */
export class FileAsItIs {
  readonly db: Database.Database
  readonly unsealed = false
  readonly #path: string
  readonly #unlock: () => void

  /** @throws FileBusyError when the file is held; StoreFileError when SQLite cannot open it */
  constructor(path: string) {
    this.#path = path
    let unlock = (): void => undefined
    try {
      unlock = lock(path)
      // A log beside a file that has none is that of another file.
      this.db = new Database(`${pathToFileURL(path).href}?mode=ro${isOpenInLog(path) ? '' : '&immutable=1'}`)
      this.#unlock = unlock
    } catch (error) {
      unlock()
      throw explainFileError(error, path)
    }
  }

  commit(): never {
    throw new Error(`${this.#path} is open to be read`)
  }

  gone(): undefined {
    return undefined
  }

  distrust(): void {}

  close(): void {
    this.db.close()
    // SQLite's index of the log, which it makes anew whenever it needs it.
    rmSync(`${this.#path}-shm`, { force: true })
    this.#unlock()
  }
}

/** Where SQLite's header has the number of pages, then the list of free ones (file format, 1.3). */
const PAGES_AT = 28
const FREE_AT = [32, 36]
/** Whether the file was closed and so needs no log: 1, or 2. */
const LOG_AT = [18, 19]

/**
 * Copies a store whose first page is damaged, and gives the copy that of a new store. Page 1 lists the tables and where they begin,
 * which is the same in every store: they are all made at once, in an empty file, and never moved.
 * @returns the copy, and a function that removes it
 */
export function copyWithFirstPage(path: string): { copy: string; remove(): void } {
  const folder = join(dirname(path), 'salvage')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  remove()
  mkdirSync(folder, { mode: 0o700 })
  try {
    const copy = join(folder, 'store.db')
    copyFileSync(path, copy)
    const withLog = bytesOf(logOf(path)) > 0
    if (withLog) copyFileSync(logOf(path), logOf(copy))
    writeFirstPage(copy, newFirstPage(join(folder, 'new.db')), withLog)
    return { copy, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function newFirstPage(path: string): Buffer {
  new OpenFile(path).close()
  const bytes = readFileSync(path)
  return bytes.subarray(0, bytes.readUInt16BE(16))
}

function writeFirstPage(path: string, page: Buffer, withLog: boolean): void {
  page.writeUInt32BE(Math.floor(bytesOf(path) / page.length), PAGES_AT)
  for (const at of FREE_AT) page.writeUInt32BE(0, at)
  for (const at of LOG_AT) page.writeUInt8(withLog ? 2 : 1, at)
  const file = openSync(path, 'r+')
  writeSync(file, page, 0, page.length, 0)
  closeSync(file)
}

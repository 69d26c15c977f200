import { rmSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import Database from 'libsql'
import { explainFileError } from './file-errors.ts'
import { isOpenInLog } from './file-format.ts'
import { lock } from './open-file.ts'

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

import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** Another process (or another store in this one) holds the file. */
export class FileBusyError extends Error {}

/** The file cannot be used. The message is a sentence for a person: which file, what is wrong, what to do. */
export class StoreFileError extends Error {
  override readonly name: string = 'StoreFileError'
  /** `full` and `disk` (which fails or refuses access) may pass; `file` means that the file itself is not what it should be. */
  readonly trouble: 'full' | 'disk' | 'file'

  constructor(
    message: string,
    { trouble = 'file', ...options }: ErrorOptions & Partial<Pick<StoreFileError, 'trouble'>> = {},
  ) {
    super(message, options)
    this.trouble = trouble
  }
}

/** The file is not what the store wrote: no reply is made from its content, and the store ends. */
export class StoreDamageError extends StoreFileError {
  readonly what: string
  /** Whether the file differs from its seal, and nothing else is known to be wrong with it. */
  readonly unlikeSeal: boolean

  /** @param advice another one than to restore a backup */
  constructor(
    path: string,
    what: string,
    { advice, unlikeSeal = false, ...options }: ErrorOptions & { advice?: string; unlikeSeal?: boolean } = {},
  ) {
    super(`the store file ${path} is damaged: ${what}. ${advice ?? restoring(path)}`, options)
    this.what = what
    this.unlikeSeal = unlikeSeal
  }
}

/** The store serves nothing from a damaged file, also not the rows that are whole: an answer without the others would be false. */
function restoring(path: string): string {
  const seal = path.replace(/\.db$/, '.seal')
  return `Stop the store, keep a copy of its directory, delete ${seal} and ${path}-wal, and put a backup of the file in its place; without a backup, countersign export --salvage saves the documents that are whole`
}

/** The file, or its log, was removed, moved or replaced while it was in use. */
export class StoreGoneError extends StoreFileError {
  override readonly name = 'StoreGoneError'

  constructor(path: string) {
    super(
      `the store file ${path} or its log was removed or replaced while it was in use, so nothing that is written now would stay: stop this process and put the file back`,
      { trouble: 'disk' },
    )
  }
}

/** Error codes of SQLite and of the operating system. */
const NO_ROOM: ReadonlySet<string> = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT'])
const NOT_OURS = /^(?:SQLITE_(?:READONLY|CANTOPEN|PERM)|EROFS$|EACCES$|EPERM$|ENOENT$|ENOTDIR$)/

/** Translates an error of the file or its directory into one for a person; returns other errors unchanged. */
export function explainFileError(error: unknown, path: string): unknown {
  if (error instanceof StoreFileError) return error
  const code = codeOf(error)
  const options = { cause: error }
  const cause = messageOf(error)
  if (code.startsWith('SQLITE_BUSY')) return new FileBusyError(`${path} is in use`, options)
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return new StoreDamageError(path, cause, options)
  }
  if (NO_ROOM.has(code)) {
    const message = `the disk of the store file ${path} is full (${cause}; ${freeSpace(path)}): make room there`
    return new StoreFileError(message, { ...options, trouble: 'full' })
  }
  if (NOT_OURS.test(code)) {
    const advice =
      'the user that runs the store needs to own it and its directory, on a disk that is not read-only'
    const message = `the store file ${path} cannot be written (${cause}): ${advice}`
    return new StoreFileError(message, { ...options, trouble: 'disk' })
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const advice = 'is the disk full, read-only or broken, or the size of a file limited?'
    const message = `the store file ${path} cannot be used (${cause}, ${code}; ${freeSpace(path)}): ${advice}`
    return new StoreFileError(message, { ...options, trouble: 'disk' })
  }
  const plain = `the store file ${path} cannot be used (${cause})`
  return code.startsWith('SQLITE_') ? new StoreFileError(plain, options) : error
}

function freeSpace(path: string): string {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return `${Math.floor((bavail * bsize) / 1024)} KiB free`
  } catch {
    return 'free space unknown'
  }
}

/** Returns the message of an error, or any other thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the code of an error of SQLite or the operating system, else ''. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

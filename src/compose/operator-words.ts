import { redact } from '../domain/redact.ts'
import { diskTrouble } from '../store/mongo/failures.ts'

/** What an operator reads of an error, and the code that `--json` gives it, stable for scripts. */
interface OperatorWords {
  code: string
  message: string
}

/** Errors whose message alone says what to do. Keyed by name: a command may not have loaded the modules of their classes. */
const KNOWN_ERRORS: Partial<Record<string, string>> = {
  ArchiveError: 'archive_unusable',
  ChangedKeyError: 'store_unusable',
  ConfigError: 'config_invalid',
  DataDirInUseError: 'data_dir_in_use',
  EmptyStoreError: 'no_store',
  ImportUnderWayError: 'import_under_way',
  ListenError: 'not_permitted',
  SnapshotLostError: 'snapshot_lost',
  StoreChangedError: 'store_in_use',
  StoreInUseError: 'store_in_use',
  StoreLockedError: 'data_dir_in_use',
  StoreFileError: 'store_unusable',
  StoreNotEmptyError: 'store_not_empty',
  StoreUnreachableError: 'store_unreachable',
  UnfinishedImportError: 'import_unfinished',
  UnsuitableStoreError: 'store_unsuitable',
  WrongSealingKeyError: 'sealing_key_wrong',
}

const ELSEWHERE = 'Set DATA_DIR to a folder you may write.'

/** The operating system's errors, whose message names only the file. The store translates its own, so these are of what is beside it. */
const FILE_ERRORS: Partial<Record<string, { code: string; advice: string }>> = {
  EACCES: { code: 'not_permitted', advice: ELSEWHERE },
  EISDIR: { code: 'no_file', advice: 'Name a file.' },
  ENOENT: { code: 'no_file', advice: 'Check the path.' },
  EEXIST: { code: 'store_unusable', advice: 'Choose another name.' },
  EROFS: { code: 'not_permitted', advice: ELSEWHERE },
  ENAMETOOLONG: { code: 'store_unusable', advice: 'Choose a shorter name.' },
  ENOSPC: { code: 'store_unusable', advice: 'Make room on that disk.' },
}

/** Puts an error that a person can mend in plain words; returns any other with its stack, without secrets. */
export function operatorWords(error: unknown): OperatorWords {
  if (!(error instanceof Error)) return { code: 'internal_error', message: String(redact(String(error))) }
  const known = KNOWN_ERRORS[error.name]
  if (known !== undefined) return { code: known, message: error.message }
  const file = 'code' in error ? FILE_ERRORS[String(error.code)] : undefined
  if (file !== undefined) return { code: file.code, message: `${error.message}. ${file.advice}` }
  const trouble = diskTrouble(error)
  if (trouble !== undefined) return { code: 'store_unusable', message: trouble }
  return { code: 'internal_error', message: String(redact(error.stack ?? error.message)) }
}

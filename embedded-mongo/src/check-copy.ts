import { storeFiles } from './data-directory.ts'
import { StoreDamageError } from './engine/file-errors.ts'
import { StoreEngine } from './engine/store-engine.ts'
import { openWhole } from './engine/survey.ts'

/** A document to add to a copy, in each of its databases. */
export interface CopyMark {
  collection: string
  document: Readonly<Record<string, string | Date>>
}

const COPY_ADVICE =
  'The copy was removed; keep the backups that were made before, and restore the last one. To save what is newer, stop the service and copy its directory as it is'

/** Opens a copy, reads all of it and adds the mark. @throws StoreFileError */
export function finishCopy(dataDir: string, to: string, mark?: CopyMark): void {
  const damage = readWhole(to, mark)
  if (damage === undefined) return
  throw new StoreDamageError(storeFiles(dataDir).database, damage, { advice: COPY_ADVICE })
}

/** @returns a description of everything that is damaged, or undefined */
export function readWhole(directory: string, mark?: CopyMark): string | undefined {
  let engine: StoreEngine | undefined
  try {
    engine = new StoreEngine(openWhole(storeFiles(directory).database, true))
    if (mark !== undefined) addMark(engine, mark)
    return undefined
  } catch (error) {
    if (error instanceof StoreDamageError) return error.what
    throw error
  } finally {
    engine?.close()
  }
}

function addMark(engine: StoreEngine, { collection, document }: CopyMark): void {
  for (const database of engine.databases())
    engine.ensureCollection(`${database}.${collection}`).insert(new Map(Object.entries(document)))
  engine.commit()
}

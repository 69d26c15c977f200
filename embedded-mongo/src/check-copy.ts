import { storeFiles } from './data-directory.ts'
import { DurableFile } from './engine/durable-file.ts'
import { StoreDamageError, StoreFileError } from './engine/file-errors.ts'
import { StoreEngine } from './engine/store-engine.ts'

/** A document to add to a copy, in each of its databases. */
export interface CopyMark {
  collection: string
  document: Readonly<Record<string, string | Date>>
}

/**
 * Opens a copy, which checkpoints its log and checks its pages, reads its documents and adds the mark.
 * @throws StoreFileError
 */
export function finishCopy(dataDir: string, to: string, mark?: CopyMark): void {
  const damage = readWhole(to, mark)
  if (damage === undefined) return
  const { database } = storeFiles(dataDir)
  throw new StoreFileError(
    `the store file ${database} is damaged: ${damage}. The copy was removed; keep the backups that were made before, and restore the last one. To save what is newer, stop the service and copy its directory as it is`,
  )
}

const PAGE = 100

/** @returns a description of the first damaged page or document, or undefined */
export function readWhole(directory: string, mark?: CopyMark): string | undefined {
  let engine: StoreEngine | undefined
  try {
    engine = new StoreEngine(new DurableFile(storeFiles(directory).database))
    readAll(engine)
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

function readAll(engine: StoreEngine): void {
  for (const collection of engine.collections()) {
    for (let after = 0; ; ) {
      const page = engine.file.documents(collection.id, after, PAGE)
      const spoilt = page.find(({ sound }) => !sound)
      // Throws an error that names the document.
      if (spoilt !== undefined) collection.read(spoilt.number)
      after = page.at(-1)?.number ?? after
      if (page.length < PAGE) break
    }
  }
}

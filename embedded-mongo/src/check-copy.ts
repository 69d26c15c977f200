import { storeFiles } from './data-directory.ts'
import { DurableFile } from './engine/durable-file.ts'
import { StoreDamageError, StoreFileError } from './engine/file-errors.ts'
import { StoreEngine } from './engine/store-engine.ts'

/** Opens a copy, which checkpoints its log and checks its pages, and reads its documents. @throws StoreFileError */
export function openToCheck(dataDir: string, to: string): void {
  const damage = findDamage(to)
  if (damage === undefined) return
  const { database } = storeFiles(dataDir)
  throw new StoreFileError(
    `the store file ${database} is damaged: ${damage}. The copy was removed; keep the backups that were made before, and restore the last one. To save what is newer, stop the service and copy its directory as it is`,
  )
}

const PAGE = 100

/** @returns a description of the first damaged page or document, or undefined */
function findDamage(to: string): string | undefined {
  let engine: StoreEngine | undefined
  try {
    engine = new StoreEngine(new DurableFile(storeFiles(to).database))
    readAll(engine)
    return undefined
  } catch (error) {
    if (error instanceof StoreDamageError) return error.what
    throw error
  } finally {
    engine?.close()
  }
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

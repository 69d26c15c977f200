import { storeFiles } from './data-directory.ts'
import { DurableFile } from './engine/durable-file.ts'
import { StoreDamageError, StoreFileError } from './engine/file-errors.ts'
import { StoreEngine } from './engine/store-engine.ts'

/** Opens a copy, which folds its log into it and checks its pages, and reads its documents. @throws StoreFileError */
export function openToCheck(dataDir: string, to: string): void {
  const engine = new StoreEngine(new DurableFile(storeFiles(to).database))
  try {
    const damage = findDamage(engine)
    if (damage === undefined) return
    const { database } = storeFiles(dataDir)
    throw new StoreFileError(
      `the store file ${database} is damaged: ${damage}. The copy was removed; keep the backups that were made before, and restore the last one. To save what is newer, stop the service and copy its directory as it is`,
    )
  } finally {
    engine.close()
  }
}

const PAGE = 100

/** Reads every document there is. @returns what names the first that is not as it was written */
function findDamage(engine: StoreEngine): string | undefined {
  try {
    for (const collection of engine.collections()) {
      for (let after = 0; ; ) {
        const page = engine.file.documents(collection.id, after, PAGE)
        const spoilt = page.find(({ sound }) => !sound)
        // It says the name.
        if (spoilt !== undefined) collection.read(spoilt.number)
        after = page.at(-1)?.number ?? after
        if (page.length < PAGE) break
      }
    }
    return undefined
  } catch (error) {
    if (error instanceof StoreDamageError) return error.what
    throw error
  }
}

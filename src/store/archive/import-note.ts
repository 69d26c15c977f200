import type { Collection } from 'mongoose'
import type { Clock } from '../../ports/ports.ts'
import { createLease, LEASES, type LeaseDocument } from '../lease.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { archivedCollections } from './archived-collections.ts'

/** An import was begun in this store and did not end: no service may run on a part of its documents. */
class UnfinishedImportError extends Error {
  override readonly name = 'UnfinishedImportError'
}

/** The store that an archive is imported into has documents already. */
class StoreNotEmptyError extends Error {
  override readonly name = 'StoreNotEmptyError'
}

/** Another process imports into the store. */
class ImportUnderWayError extends Error {
  override readonly name = 'ImportUnderWayError'
}

/** The lease of the process that imports, which stays until the store has all of the archive. */
const ID = 'import'

function notes(connection: StoreConnection): Collection<LeaseDocument> {
  return connection.collection<LeaseDocument>(LEASES)
}

/** @throws UnfinishedImportError */
export async function refuseUnfinished(connection: StoreConnection): Promise<void> {
  if ((await notes(connection).findOne({ _id: ID })) === null) return
  throw new UnfinishedImportError(
    'An import into this store did not finish, so a part of its documents is missing. Run it again, with the same archive: countersign import <file>',
  )
}

/** An import that this process does. */
export interface ImportHold {
  /** The step to begin with: once all indexes are there, the store may remove documents that have expired. */
  step: 'documents' | 'indexes'
  /** @throws ImportUnderWayError when this process was away for so long that another one may import */
  refuseLost(): void
  /** Notes that all documents are there. @throws ImportUnderWayError as `refuseLost` */
  loaded(): Promise<void>
}

/**
 * Notes that this archive is being imported, so that an import that was killed goes on where it was, and does the work while no other
 * process imports into the store. Services may use the store once the work is done.
 * @param alone no other process can reach the store, so one that noted an import before is dead
 * @throws StoreNotEmptyError; UnfinishedImportError for another archive; ImportUnderWayError
 */
export async function holdImport<Result>(
  connection: StoreConnection,
  archive: string,
  { clock, alone }: { clock: Clock; alone: boolean },
  work: (hold: ImportHold) => Promise<Result>,
): Promise<Result> {
  const found = await readNote(connection, archive)
  const lease = createLease(notes(connection), ID, clock)
  const refuseUnless = (held: boolean): void => {
    if (!held) throw underWay()
  }
  const stop = lease.keep()
  try {
    refuseUnless(await lease.take({ archive, step: 'documents' }, alone))
    const result = await work({
      step: found?.step ?? 'documents',
      refuseLost: () => refuseUnless(lease.isHeld()),
      loaded: async () => refuseUnless(await lease.note({ $set: { step: 'indexes' } })),
    })
    refuseUnless(await lease.remove())
    return result
  } catch (error) {
    await lease.end({}).catch(() => undefined)
    throw error
  } finally {
    stop()
  }
}

async function readNote(connection: StoreConnection, archive: string): Promise<LeaseDocument | null> {
  const found = await notes(connection).findOne({ _id: ID })
  if (found !== null && found.archive !== archive)
    throw new UnfinishedImportError(
      'An import of another archive into this store did not finish. Finish it with that archive, or name an empty store.',
    )
  if (found !== null) return found
  for (const name of [...(await archivedCollections(connection)), 'jobs']) {
    if ((await connection.collection(name).findOne({}, { projection: { _id: 1 } })) === null) continue
    throw new StoreNotEmptyError(
      `The store is not empty (${name} has documents), and an import never changes what is there: name a new DATA_DIR, or a new database in MONGODB_URI.`,
    )
  }
  return null
}

function underWay(): ImportUnderWayError {
  return new ImportUnderWayError(
    'Another process imports into this store, or died less than a minute ago. Wait for its end; if it died, run this again in a minute.',
  )
}

import { type Collection, mongo } from 'mongoose'
import { RESTORES } from '../../domain/restore.ts'
import { LEASES } from '../lease.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { DUPLICATE_KEY } from '../mongo/failures.ts'
import { noteVersion } from '../schema/prepare-schema.ts'
import { ArchiveError, createPartSum, type Manifest, type Part, sameSums } from './archive-format.ts'
import {
  archivedCollections,
  BATCH,
  countArchived,
  parseDocument,
  readLines,
} from './archived-collections.ts'
import type { OnLines } from './read-archive.ts'
import type { OnProgress } from './write-archive.ts'

/** The most bytes of lines in one write, unless one document has more: a server takes 48 MB. */
const BATCH_BYTES = 1024 * 1024

/**
 * Makes a function that writes documents into an empty store, or into one that has some of them from an attempt before. Indexes by
 * which the store removes what has expired must not be there yet.
 */
export function createLoader(
  connection: StoreConnection,
  onProgress: OnProgress,
): { add: OnLines; end(): Promise<void> } {
  const writer = createWriter(connection)
  let into = ''
  let skip = 0
  return {
    async add({ collection, documents, of }, lines) {
      if (collection !== into) {
        await writer.flush()
        into = collection
        // What was being written when the attempt before died may be there in part.
        skip = Math.max(0, (await countArchived(connection, collection)) - BATCH)
      }
      const first = documents - lines.length
      for (const line of lines.slice(Math.max(0, skip - first)))
        await writer.add(collection, parseDocument(Buffer.from(line).toString('utf8')), line.length)
      onProgress({ collection, documents, of })
    },
    end: () => writer.flush(),
  }
}

/** Makes a function that writes documents, given as BSON, into an empty store. */
export function createRescue(connection: StoreConnection) {
  const writer = createWriter(connection)
  return {
    add: (collection: string, body: Uint8Array): Promise<void> =>
      writer.add(collection, mongo.BSON.deserialize(body, { promoteValues: false }), body.length),
    end: () => writer.flush(),
  }
}

/** Writes while the next documents are being read: one batch is on its way at a time. */
function createWriter(connection: StoreConnection) {
  let batch: mongo.Document[] = []
  let bytes = 0
  let into = ''
  let writing: Promise<void> = Promise.resolve()
  const send = async (): Promise<void> => {
    await writing
    if (batch.length === 0) return
    writing = insert(connection, into, batch)
    // It is looked at before the next one.
    writing.catch(() => undefined)
    batch = []
    bytes = 0
  }
  return {
    async add(collection: string, document: mongo.Document, size: number): Promise<void> {
      if (collection !== into) await send()
      into = collection
      batch.push(document)
      bytes += size
      if (batch.length >= BATCH || bytes >= BATCH_BYTES) await send()
    },
    async flush(): Promise<void> {
      await send()
      await writing
    },
  }
}

/** Inserts documents; those that are there from an attempt before are compared at the end, like all. */
async function insert(connection: StoreConnection, collection: string, documents: mongo.Document[]) {
  try {
    await connection.collection(collection).insertMany(documents, { ordered: false })
  } catch (error) {
    if (!isAllThere(error)) throw error
  }
}

/** Checks whether nothing kept documents from being written but that they are there. */
function isAllThere(error: unknown): boolean {
  if (!(error instanceof mongo.MongoBulkWriteError)) return false
  const refused = [error.writeErrors].flat()
  // A connection that broke refuses no document.
  return refused.length > 0 && refused.every(({ code }) => code === DUPLICATE_KEY)
}

/** Reads all documents back. @throws ArchiveError unless they are those of the archive */
export async function compareLoaded(
  connection: StoreConnection,
  parts: readonly Part[],
  onProgress: OnProgress,
): Promise<void> {
  for (const part of parts) {
    const sum = createPartSum(part.part)
    let documents = 0
    for await (const { lines, documents: more } of readLines(connection, part.part)) {
      sum.add(lines, more)
      documents += more
      onProgress({ collection: part.part, documents, of: part.documents })
    }
    if (!sameSums(sum.end(), part))
      throw new ArchiveError(`the documents of ${part.part} in the store are not those of the archive`)
  }
}

/** An import was begun in this store and did not end: no service may run on a part of its documents. */
class UnfinishedImportError extends Error {
  override readonly name = 'UnfinishedImportError'
}

/** The store that an archive is imported into has documents already. */
class StoreNotEmptyError extends Error {
  override readonly name = 'StoreNotEmptyError'
}

/** Once all indexes are there, the store may remove documents that have expired: they are loaded and compared before. */
type Step = 'documents' | 'indexes'

interface ImportNote {
  _id: 'import'
  /** Checksum of the archive. */
  archive: string
  step: Step
}

const ID = 'import'

function notes(connection: StoreConnection): Collection<ImportNote> {
  return connection.collection<ImportNote>(LEASES)
}

/** @throws UnfinishedImportError */
export async function refuseUnfinished(connection: StoreConnection): Promise<void> {
  if ((await notes(connection).findOne({ _id: ID })) === null) return
  throw new UnfinishedImportError(
    'An import into this store did not finish, so a part of its documents is missing. Run it again, with the same archive: countersign import <file>',
  )
}

/**
 * Notes that this archive is being imported, so that an import that was killed goes on where it was.
 * @returns the step to begin with
 * @throws StoreNotEmptyError; UnfinishedImportError for another archive
 */
export async function beginImport(connection: StoreConnection, archive: string): Promise<Step> {
  const found = await notes(connection).findOne({ _id: ID })
  if (found !== null && found.archive !== archive)
    throw new UnfinishedImportError(
      'An import of another archive into this store did not finish. Finish it with that archive, or name an empty store.',
    )
  if (found !== null) return found.step
  for (const name of [...(await archivedCollections(connection)), 'jobs']) {
    if ((await connection.collection(name).findOne({}, { projection: { _id: 1 } })) === null) continue
    throw new StoreNotEmptyError(
      `The store is not empty (${name} has documents), and an import never changes what is there: name a new DATA_DIR, or a new database in MONGODB_URI.`,
    )
  }
  await notes(connection).insertOne({ _id: ID, archive, step: 'documents' })
  return 'documents'
}

/** Notes that all documents are there. */
export async function noteLoaded(connection: StoreConnection): Promise<void> {
  await notes(connection).updateOne({ _id: ID }, { $set: { step: 'indexes' } })
}

/** Opens the store to services. */
export async function endImport(connection: StoreConnection): Promise<void> {
  await notes(connection).deleteOne({ _id: ID })
}

/**
 * Notes of which version the documents are, and that the store is a copy, so that the first start on it knows.
 * @param moved the operator says that the other store is not used again: this one is no copy
 */
export async function addMarks(
  connection: StoreConnection,
  { copy, schema_version }: Manifest,
  moved: boolean,
): Promise<void> {
  const { id, copied_at, ...mark } = copy
  const document = { state: 'copied', ...mark, copied_at: new Date(copied_at) }
  const restores = connection.collection<{ _id: string }>(RESTORES)
  if (!moved) await restores.updateOne({ _id: id }, { $setOnInsert: document }, { upsert: true })
  await noteVersion(connection, schema_version)
}

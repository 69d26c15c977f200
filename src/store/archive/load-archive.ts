import { mongo } from 'mongoose'
import { RESTORES } from '../../domain/restore.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { DUPLICATE_KEY } from '../mongo/failures.ts'
import { noteVersion } from '../schema/prepare-schema.ts'
import { ArchiveError, createPartSum, type Manifest, type Part, sameSums, textOf } from './archive-format.ts'
import { countArchived, parseDocument, readLines } from './archived-collections.ts'
import type { ImportHold } from './import-note.ts'
import type { OnLines } from './read-archive.ts'
import type { OnProgress } from './write-archive.ts'

/** The most documents of one write. The embedded store writes each page of an index that it changes once for all of them. */
const WRITE_BATCH = 500
/** The most bytes of lines in one write, unless one document has more: a server takes 48 MB. */
const BATCH_BYTES = 1024 * 1024

/**
 * Makes a function that writes documents into an empty store, or into one that has some of them from an attempt before. Indexes by
 * which the store removes what has expired must not be there yet.
 */
export function createLoader(
  connection: StoreConnection,
  { refuseLost }: Pick<ImportHold, 'refuseLost'>,
  onProgress: OnProgress,
): { add: OnLines; end(): Promise<void> } {
  const writer = createWriter(connection, refuseLost)
  let into = ''
  let skip = 0
  return {
    async add({ collection, documents, of }, lines) {
      if (collection !== into) {
        await writer.flush()
        into = collection
        // What was being written when the attempt before died may be there in part.
        skip = Math.max(0, (await countArchived(connection, collection)) - WRITE_BATCH)
      }
      const first = documents - lines.length
      for (const line of lines.slice(Math.max(0, skip - first)))
        await writer.add(collection, parseDocument(textOf(line)), line.length)
      onProgress({ collection, documents, of })
    },
    end: () => writer.flush(),
  }
}

/** Makes a function that writes documents, given as BSON, into an empty store. */
export function createRescue(connection: StoreConnection) {
  const writer = createWriter(connection, () => undefined)
  return {
    add: (collection: string, body: Uint8Array): Promise<void> =>
      writer.add(collection, mongo.BSON.deserialize(body, { promoteValues: false }), body.length),
    end: () => writer.flush(),
  }
}

/** Writes while the next documents are being read: one batch is on its way at a time. */
function createWriter(connection: StoreConnection, refuseLost: () => void) {
  let batch: mongo.Document[] = []
  let bytes = 0
  let into = ''
  let writing: Promise<void> = Promise.resolve()
  const send = async (): Promise<void> => {
    await writing
    if (batch.length === 0) return
    refuseLost()
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
      if (batch.length >= WRITE_BATCH || bytes >= BATCH_BYTES) await send()
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

import mongoose, { type mongo } from 'mongoose'
import { LEASES } from '../lease.ts'
import type { StoreConnection } from '../mongo/connect.ts'

const { EJSON } = mongoose.mongo.BSON

/** Collections of the store they are in: `jobs` are made again, counters last a minute, `LEASES` has its version too. */
const LEFT_OUT = ['jobs', 'rate_limits', LEASES]

/** How many documents are read at a time: more would only take more memory. */
const BATCH = 100

/** Lists the collections of a store that belong into an archive, by name. */
export async function archivedCollections(connection: StoreConnection): Promise<string[]> {
  const found = (await connection.db?.listCollections({}, { nameOnly: true }).toArray()) ?? []
  return found
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('system.') && !LEFT_OUT.includes(name))
    .sort()
}

/** Reads in a snapshot. The read concern of the connection would otherwise take its place, and each read see another moment. */
export function within(session: mongo.ClientSession | undefined) {
  return session === undefined ? {} : { session, readConcern: { level: 'snapshot' as const } }
}

/** @param session a snapshot, if the store has them */
export function countArchived(
  connection: StoreConnection,
  name: string,
  session?: mongo.ClientSession,
): Promise<number> {
  return connection.collection<{ _id: string }>(name).countDocuments({}, within(session))
}

/** Reads the documents of a collection in order of their `_id`, as lines of canonical Extended JSON with their ends, some at a time. */
export async function* readLines(
  connection: StoreConnection,
  name: string,
  session?: mongo.ClientSession,
): AsyncGenerator<{ lines: Uint8Array; documents: number }> {
  // Numbers keep the types that they are stored as.
  const options = {
    sort: { _id: 1 },
    batchSize: BATCH,
    promoteValues: false,
    ...within(session),
  } as const
  const cursor = connection.collection<{ _id: string }>(name).find({}, options)
  try {
    while (await cursor.hasNext()) {
      const documents = cursor.readBufferedDocuments()
      const lines = documents.map((document) => `${EJSON.stringify(document, { relaxed: false })}\n`)
      yield { lines: Buffer.from(lines.join('')), documents: documents.length }
    }
  } finally {
    await cursor.close()
  }
}

/** Reads a document from its line. */
export function parseDocument(line: string): mongo.Document {
  return EJSON.parse(line, { relaxed: false })
}

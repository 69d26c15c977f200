import type { Collection as MongooseCollection, mongo } from 'mongoose'
import { readSound } from './failures.ts'

type Collection = MongooseCollection<{ _id: string }>
type Filter = mongo.Filter<{ _id: string }>

/** Documents looked for at once. What is damaged stays as it is. */
const BATCH = 500

/**
 * Deletes what matches, one by one in one command: one that an election interrupts the driver then sends again by itself, as it
 * does with no `deleteMany`.
 * @returns how many
 */
export async function deleteEach(collection: Collection, filter: object): Promise<number> {
  let deleted = 0
  for (let found = BATCH; found === BATCH; ) {
    const ids = await idsOf(collection, filter, BATCH)
    found = ids.length
    deleted += await deleteThese(collection, ids, filter)
  }
  return deleted
}

/** The same with at most so many. */
export async function deleteSome(collection: Collection, filter: object, limit: number): Promise<number> {
  return deleteThese(collection, await idsOf(collection, filter, limit), filter)
}

/** Deletes those of them that match still: one may have changed since it was looked for. @returns how many */
export async function deleteThese(
  collection: Collection,
  ids: readonly string[],
  filter: object = {},
): Promise<number> {
  if (ids.length === 0) return 0
  const writes = ids.map((_id) => ({ deleteOne: { filter: { ...filter, _id } } }))
  return (await collection.bulkWrite(writes, { ordered: false })).deletedCount
}

/** Changes what matches, one by one in one command. Doing it again must change nothing. */
export async function updateEach(
  collection: Collection,
  filter: object,
  update: mongo.UpdateFilter<{ _id: string }>,
): Promise<void> {
  const ids = await idsOf(collection, filter)
  if (ids.length === 0) return
  const writes = ids.map((_id) => ({ updateOne: { filter: { ...filter, _id }, update } }))
  await collection.bulkWrite(writes, { ordered: false })
}

async function idsOf(collection: Collection, filter: Filter, limit = 0): Promise<string[]> {
  const options = { projection: { _id: 1 }, limit } as const
  const found = await readSound(collection.conn, (sound) =>
    collection.find(filter, { ...options, ...sound }).toArray(),
  )
  return found.map(({ _id }) => _id)
}

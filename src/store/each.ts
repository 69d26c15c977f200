import type { Collection as MongooseCollection, mongo } from 'mongoose'
import { damageTold, findSound, PASSED_OVER } from './failures.ts'
import { outcomesOf } from './shared-trips.ts'

type Collection = MongooseCollection<{ _id: string }>
type Filter = mongo.Filter<{ _id: string }>

/** Documents looked for at once. What is damaged stays as it is, and keeps no other. */
const BATCH = 500

/**
 * Deletes what matches, one by one in one command: one that an election interrupts the driver then sends again by itself, as it
 * does with no `deleteMany`.
 * @returns how many
 */
export async function deleteEach(collection: Collection, filter: object): Promise<number> {
  let deleted = 0
  for (;;) {
    const ids = await idsOf(collection, filter, BATCH)
    const gone = await deleteThese(collection, ids, filter)
    deleted += gone
    if (ids.length < BATCH || gone === 0) return deleted
  }
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
  return writeSound(collection, writes)
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
  await writeSound(collection, writes)
}

/** Each that can be done, in one command. @returns how many documents are deleted by it */
async function writeSound(
  collection: Collection,
  writes: mongo.AnyBulkWriteOperation<{ _id: string }>[],
): Promise<number> {
  let deleted: number | undefined
  const outcomes = await outcomesOf(writes.length, async () => {
    deleted = (await collection.bulkWrite(writes, { ordered: false })).deletedCount
  })
  for (const outcome of outcomes.filter((one) => one instanceof Error)) {
    if (damageTold(outcome) === undefined) throw outcome
    collection.conn.emit(PASSED_OVER, outcome)
  }
  return deleted ?? outcomes.filter((outcome) => outcome === 'done').length
}

async function idsOf(collection: Collection, filter: Filter, limit = 0): Promise<string[]> {
  const found = await findSound(collection, filter, { projection: { _id: 1 }, limit })
  return found.map(({ _id }) => _id)
}

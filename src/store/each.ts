import type { Collection as MongooseCollection, mongo } from 'mongoose'
import { damageTold, findSound, PASSED_OVER } from './failures.ts'
import { outcomesOf } from './shared-trips.ts'

type Collection = MongooseCollection<{ _id: string }>
type Filter = mongo.Filter<{ _id: string }>

/** Documents found and deleted per round. A damaged document stays, and holds up no other. */
const BATCH = 500

/**
 * Deletes the matching documents by single deletes in one bulk command: the driver retries these by itself after an election,
 * which it does not do for `deleteMany`.
 * @returns how many were deleted
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

/** Deletes these documents if they still match: one may have changed since it was found. @returns how many were deleted */
export async function deleteThese(
  collection: Collection,
  ids: readonly string[],
  filter: object = {},
): Promise<number> {
  if (ids.length === 0) return 0
  const writes = ids.map((_id) => ({ deleteOne: { filter: { ...filter, _id } } }))
  return writeSound(collection, writes)
}

/** Updates the matching documents by single updates in one bulk command. The update must be idempotent. */
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

/** Does the writes in one command, passing over damaged documents. @returns how many documents were deleted */
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

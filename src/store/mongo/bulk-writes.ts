import { type Collection as MongooseCollection, mongo } from 'mongoose'
import { DUPLICATE_KEY } from './failures.ts'

type Collection = MongooseCollection<{ _id: string }>
type Filter = mongo.Filter<{ _id: string }>

/** Documents found and deleted per round. */
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
  return (await collection.bulkWrite(writes, { ordered: false })).deletedCount
}

/**
 * Updates the matching documents by single updates in one bulk command. The update must be idempotent.
 * @returns how many were found
 */
export async function updateEach(
  collection: Collection,
  filter: object,
  update: mongo.UpdateFilter<{ _id: string }>,
): Promise<number> {
  const ids = await idsOf(collection, filter)
  if (ids.length === 0) return 0
  const writes = ids.map((_id) => ({ updateOne: { filter: { ...filter, _id }, update } }))
  await collection.bulkWrite(writes, { ordered: false })
  return ids.length
}

async function idsOf(collection: Collection, filter: Filter, limit = 0): Promise<string[]> {
  const found = await collection.find(filter, { projection: { _id: 1 }, limit }).toArray()
  return found.map(({ _id }) => _id)
}

/** The outcome of one write of a bulk write: done, refused because its unique key is taken, or failed with an error. */
export type Outcome = 'done' | 'taken' | Error

/** @returns whether the write was done @throws the outcome when it is an error */
export function wasDone(outcome: Outcome): boolean {
  if (outcome instanceof Error) throw outcome
  return outcome === 'done'
}

/** Returns the outcome of each write of a bulk write. @throws an error that concerns the whole command */
export async function outcomesOf(count: number, write: () => Promise<unknown>): Promise<Outcome[]> {
  const outcomes: Outcome[] = Array.from({ length: count }, () => 'done')
  if (count === 0) return outcomes
  try {
    await write()
  } catch (error) {
    const failures = failuresOf(error)
    for (const { index, code, errmsg } of failures)
      outcomes[index] = code === DUPLICATE_KEY ? 'taken' : Object.assign(new Error(errmsg), { code })
  }
  return outcomes
}

/**
 * Returns the single writes that a bulk write reports as refused. The driver wraps an error that ends the whole command in the
 * same class, without any write in it: then the outcome of every write is unknown.
 * @throws an error that concerns the whole command
 */
function failuresOf(error: unknown): readonly mongo.WriteError[] {
  if (!(error instanceof mongo.MongoBulkWriteError)) throw error
  const failures = [error.writeErrors].flat()
  if (failures.length > 0 && error.result.getWriteConcernError() === undefined) return failures
  const cause: unknown = error.errorResponse
  throw cause instanceof Error ? cause : error
}

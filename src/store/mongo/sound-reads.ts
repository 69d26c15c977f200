import type { Collection, mongo, Query } from 'mongoose'
import { damageTold } from './failures.ts'

/** The option of a find that lets the embedded store leave out damaged documents. */
interface SoundOptions {
  allowPartialResults?: true
}

/** The event a connection emits for each read or write that passed over damage, with the error that names the document. */
export const PASSED_OVER = 'damage passed over'

/**
 * Reads for work that must go on: a damaged document is reported, and holds up no other. Not for what a person asked to see:
 * that would be incomplete without a word.
 */
export async function readSound<T>(
  connection: { emit(event: string, error: unknown): unknown },
  read: (options: SoundOptions) => Promise<T>,
): Promise<T> {
  try {
    return await read({})
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    connection.emit(PASSED_OVER, error)
    return read({ allowPartialResults: true })
  }
}

/** `readSound` for a mongoose query; returns plain documents as stored. */
export function leanSound<Found>(query: Query<unknown, unknown>): Promise<Found> {
  return readSound(query.model.db, (sound) => query.clone().setOptions(sound).lean<Found>().exec())
}

/** `readSound` for the driver's collection, past the models: returns documents as stored. */
export function findSound<Stored extends mongo.Document, Found extends mongo.Document = Stored>(
  collection: Collection<Stored>,
  filter: mongo.Filter<Stored>,
  options: mongo.FindOptions,
): Promise<Found[]> {
  return readSound(collection.conn, (sound) =>
    collection.find<Found>(filter, { ...options, ...sound }).toArray(),
  )
}

/** Checks whether a document exists. A damaged one counts, or the caller would make another. */
export async function isThere(
  connection: Parameters<typeof readSound>[0],
  find: () => Promise<unknown>,
): Promise<boolean> {
  try {
    return (await find()) !== null
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    connection.emit(PASSED_OVER, error)
    return true
  }
}

/** Checks whether the read fails because of damage. */
export async function isDamaged(read: () => Promise<unknown>): Promise<boolean> {
  try {
    await read()
    return false
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    return true
  }
}

import { Schema } from 'mongoose'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { number, text } from '../mongo/fields.ts'

/** The last checkpoint of a log that this witness cosigned. */
export interface Witnessed {
  origin: string
  size: number
  /** The checkpoint with the signatures of its log and of this witness. */
  note: string
}

type WitnessedDocument = Omit<Witnessed, 'origin'> & { _id: string; fork?: string }

const witnessedSchema = new Schema<WitnessedDocument>(
  { _id: text, size: number, note: text, fork: String },
  STRICT_SCHEMA,
)

/** Whose store this is: there is one document. */
interface WitnessDocument {
  _id: string
  vkey: string
}

const witnessSchema = new Schema<WitnessDocument>({ _id: text, vkey: text }, STRICT_SCHEMA)

export type WitnessedStore = ReturnType<typeof createWitnessedStore>

/** What a witness remembers, on mongoose. A log's state moves only from the size that was read. */
export function createWitnessedStore(connection: StoreConnection) {
  const model = connection.model<WitnessedDocument>('Witnessed', witnessedSchema, 'witnessed')
  const witness = connection.model<WitnessDocument>('Witness', witnessSchema, 'witness')
  return {
    /** Checks whether nothing was stored, by this or another program. */
    isNew: async (): Promise<boolean> => (await connection.listCollections()).length === 0,
    /** Gives the state to a key, once. @returns the key that it belongs to; undefined for another program's store */
    async claim(vkey: string): Promise<string | undefined> {
      const known = await witness.findById('witness').lean<WitnessDocument>()
      if (known) return known.vkey
      if (!(await this.isNew())) return undefined
      await witness.create({ _id: 'witness', vkey })
      return vkey
    },
    async find(origin: string): Promise<Witnessed | undefined> {
      const found = await model.findById(origin).lean<WitnessedDocument>()
      return found ? { origin, size: found.size, note: found.note } : undefined
    },
    /** @returns false when the state is no longer the one that was read */
    async move(from: Witnessed | undefined, { origin: _id, size, note }: Witnessed): Promise<boolean> {
      if (from === undefined) return unlessTaken(() => model.create({ _id, size, note }))
      const { matchedCount } = await model.updateOne({ _id, size: from.size }, { $set: { size, note } })
      return matchedCount === 1
    },
    /** Keeps the first proof that a log forked: a checkpoint it signed beside the one that was cosigned. @returns whether it is new */
    async keepFork(origin: string, fork: string): Promise<boolean> {
      const { modifiedCount } = await model.updateOne({ _id: origin, fork: null }, { $set: { fork } })
      return modifiedCount === 1
    },
  }
}

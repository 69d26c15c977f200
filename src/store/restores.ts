import { Schema } from 'mongoose'
import { RESTORES, type Restore } from '../domain/restore.ts'
import { STRICT_SCHEMA, type StoreConnection } from './mongo/connect.ts'
import { date, text } from './mongo/fields.ts'
import { recordOf } from './mongo/record.ts'

type RestoreDocument = Omit<Restore, 'id'> & { _id: string }

const restoreSchema = new Schema<RestoreDocument>(
  {
    _id: text,
    state: text,
    copied_by: text,
    copied_on: text,
    copied_at: date,
    number: Number,
    restored_at: Date,
    lifted_at: Date,
  },
  STRICT_SCHEMA,
)

/** The copies that this store was restored from, on mongoose. There are none in a store that was never restored. */
export function createRestoreStore(connection: StoreConnection) {
  const model = connection.model<RestoreDocument>('Restore', restoreSchema, RESTORES)
  return {
    /** Returns all, the last one at the end; marks that no start has seen yet come last, in the order of their copies. */
    async all(): Promise<Restore[]> {
      const found = (await model.find().lean<RestoreDocument[]>()).map(recordOf)
      const place = ({ number = Number.POSITIVE_INFINITY }: Restore) => number
      return found.sort((a, b) => place(a) - place(b) || a.copied_at.getTime() - b.copied_at.getTime())
    },
  }
}

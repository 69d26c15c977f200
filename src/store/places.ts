import mongoose, { Schema } from 'mongoose'
import { MOST_PENDING } from '../domain/attention.ts'
import type { HeldPlace, PlaceStore } from '../flow/attention-ports.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'

interface PlaceDocument {
  /** `<account>:<approver>` */
  _id: string
  held: HeldPlace[]
}

const part = { _id: false, id: false, strict: 'throw' } as const
const heldFields = new Schema(
  { id: { type: String, required: true }, at: { type: Date, required: true } },
  part,
)

const placeSchema = new Schema<PlaceDocument>(
  { _id: { type: String, required: true }, held: { type: [heldFields], required: true } },
  STRICT_SCHEMA,
)

/** Places on mongoose: one document for each account and approver, which holds the requests that have one. */
export function createPlaceStore(connection: StoreConnection): PlaceStore {
  const model = connection.model<PlaceDocument>('Place', placeSchema, 'places')
  const nameOf = (accountId: string, userId: string) => `${accountId}:${userId}`
  return {
    async take(accountId, userId, requestId, at) {
      const _id = nameOf(accountId, userId)
      const room = {
        _id,
        [`held.${MOST_PENDING - 1}`]: mongoose.trusted({ $exists: false }),
        'held.id': mongoose.trusted({ $ne: requestId }),
      }
      const push = { $push: { held: { id: requestId, at } } }
      // A full list and a request that holds a place do not match either: the upsert then runs into the `_id`. So do two
      // first requests at once; the second try meets the list that the other one made.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        try {
          await model.updateOne(room, push, { upsert: true })
          return true
        } catch (error) {
          if (!isDuplicateKey(error)) throw error
        }
      }
      return (await model.countDocuments({ _id, 'held.id': requestId })) > 0
    },
    async held(accountId, userId) {
      const found = await model.findById(nameOf(accountId, userId)).lean<PlaceDocument>()
      return found?.held ?? []
    },
    async free(accountId, userId, requestIds) {
      if (requestIds.length === 0) return
      const ids = mongoose.trusted({ $in: [...requestIds] })
      await model.updateOne({ _id: nameOf(accountId, userId) }, { $pull: { held: { id: ids } } })
    },
  }
}

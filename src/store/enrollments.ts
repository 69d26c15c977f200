import mongoose, { Schema } from 'mongoose'
import type { Enrollment, EnrollmentStore } from '../flow/people-ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

type EnrollmentDocument = Omit<Enrollment, 'id'> & { _id: string }

const enrollmentSchema = new Schema<EnrollmentDocument>(
  {
    _id: { type: String, required: true },
    kind: { type: String, required: true },
    token_hash: { type: String, required: true },
    user_id: String,
    account_id: String,
    by_operator: Boolean,
    pending: new Schema(
      {
        user_id: { type: String, required: true },
        email: { type: String, required: true },
        name: { type: String, required: true },
        sealed_seed: { type: String, required: true },
      },
      { _id: false, strict: 'throw' },
    ),
    tries: { type: Number, required: true },
    expires_at: { type: Date, required: true },
    created_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
enrollmentSchema.index({ token_hash: 1 }, { unique: true })
enrollmentSchema.index({ kind: 1, user_id: 1 })
enrollmentSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Codes that may be compared under one link. */
const TRIES = 5

/** One-time links on mongoose. A used or replaced one is deleted. */
export function createEnrollmentStore(connection: StoreConnection): EnrollmentStore {
  const model = connection.model<EnrollmentDocument>('Enrollment', enrollmentSchema, 'enrollments')
  const open = () => ({
    tries: mongoose.trusted({ $lt: TRIES }),
    $expr: mongoose.trusted({ $gt: ['$expires_at', '$$NOW'] }),
  })
  return {
    async insert({ id, ...rest }) {
      await model.create({ _id: id, ...rest })
    },
    async find(tokenHash) {
      const found = await model.findOne({ token_hash: tokenHash, ...open() }).lean<EnrollmentDocument>()
      if (found === null) return undefined
      const { _id, ...rest } = found
      return { id: _id, ...rest }
    },
    async setPending(id, pending) {
      await model.updateOne({ _id: id, ...open() }, { $set: { pending } })
    },
    takeTry: async (id) =>
      (await model.updateOne({ _id: id, ...open() }, { $inc: { tries: 1 } })).modifiedCount === 1,
    // The last try may be the right one, so a link without tries left can still be used up by it.
    consume: async (id) => {
      const unexpired = { _id: id, $expr: mongoose.trusted({ $gt: ['$expires_at', '$$NOW'] }) }
      return (await model.deleteOne(unexpired)).deletedCount === 1
    },
    async revokeOpen(kind, of) {
      await model.deleteMany({ kind, ...of })
    },
  }
}

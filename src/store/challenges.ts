import mongoose, { Schema } from 'mongoose'
import type { Challenge, ChallengeStore, ShownItem } from '../flow/people-ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

type ChallengeDocument = Omit<Challenge, 'id'> & { _id: string }

const shownFields = new Schema<ShownItem>(
  {
    request_id: { type: String, required: true },
    decision: { type: String, required: true },
    intent_json: { type: String, required: true },
    whose: { type: String, required: true },
    votes: { type: [String], required: true },
    methods: { type: [String], required: true },
  },
  { _id: false, strict: 'throw' },
)

const challengeSchema = new Schema<ChallengeDocument>(
  {
    _id: { type: String, required: true },
    purpose: { type: String, required: true },
    user_id: String,
    subject: String,
    session_id: String,
    request_id: String,
    intent_json: String,
    shown: { type: [shownFields], default: undefined },
    profile: new Schema(
      {
        email: { type: String, required: true },
        name: { type: String, required: true },
        user_handle: { type: String, required: true },
      },
      { _id: false, strict: 'throw' },
    ),
    expires_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
challengeSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** WebAuthn challenges on mongoose. Reading one deletes it: two equal answers can never both find it (T33). */
export function createChallengeStore(connection: StoreConnection): ChallengeStore {
  const model = connection.model<ChallengeDocument>('Challenge', challengeSchema, 'challenges')
  return {
    async put({ id, ...rest }) {
      await model.create({ _id: id, ...rest })
    },
    async take(id, purpose) {
      const open = { _id: id, purpose, $expr: mongoose.trusted({ $gt: ['$expires_at', '$$NOW'] }) }
      const taken = await model.findOneAndDelete(open).lean<ChallengeDocument>()
      if (taken === null) return undefined
      const { _id, ...rest } = taken
      return { id: _id, ...rest }
    },
  }
}

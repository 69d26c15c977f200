import mongoose, { Schema } from 'mongoose'
import type { Session, SessionStore } from '../flow/people-ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

type SessionDocument = Omit<Session, 'id'> & { _id: string }

const sessionSchema = new Schema<SessionDocument>(
  {
    _id: { type: String, required: true },
    token_hash: { type: String, required: true },
    user_id: { type: String, required: true },
    created_at: { type: Date, required: true },
    last_seen_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
    user_agent: { type: String, default: '' },
  },
  STRICT_SCHEMA,
)
sessionSchema.index({ token_hash: 1 }, { unique: true })
sessionSchema.index({ user_id: 1 })
sessionSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** A session nobody used for this long is over. */
const IDLE_MS = 12 * 3_600_000

/** The gap between two notes of use, so that a busy page costs one write a minute. */
const TOUCH_GAP_MS = 60_000

/** Sessions on mongoose. Ending one deletes it, in every process at once. */
export function createSessionStore(connection: StoreConnection): SessionStore {
  const model = connection.model<SessionDocument>('Session', sessionSchema, 'sessions')
  const findOne = async (filter: mongoose.QueryFilter<SessionDocument>) =>
    toSession(await model.findOne(filter).lean<SessionDocument>())
  return {
    async insert({ id, ...rest }) {
      await model.create({ _id: id, ...rest })
    },
    findByToken: (tokenHash, now) => findOne({ token_hash: tokenHash, ...liveAt(now) }),
    findLive: (id, now) => findOne({ _id: id, ...liveAt(now) }),
    async touch(id, at) {
      const stale = trustedBefore(new Date(at.getTime() - TOUCH_GAP_MS))
      await model.updateOne({ _id: id, last_seen_at: stale }, { $set: { last_seen_at: at } })
    },
    end: async (id) => (await model.deleteOne({ _id: id })).deletedCount === 1,
    async endAllOf(userId) {
      await model.deleteMany({ user_id: userId })
    },
  }
}

function liveAt(now: Date) {
  const idleSince = new Date(now.getTime() - IDLE_MS)
  return {
    expires_at: mongoose.trusted({ $gt: now }),
    last_seen_at: mongoose.trusted({ $gt: idleSince }),
  }
}

function trustedBefore(at: Date) {
  return mongoose.trusted({ $lt: at })
}

function toSession(document: SessionDocument | null): Session | undefined {
  if (document === null) return undefined
  const { _id, ...rest } = document
  return { id: _id, ...rest }
}

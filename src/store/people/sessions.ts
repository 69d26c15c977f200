import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Session } from '../../domain/user.ts'
import { deleteEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, text } from '../mongo/fields.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from '../mongo/outbox.ts'
import { documentOf } from '../mongo/record.ts'
import { createWriter } from '../mongo/writer.ts'

const { trusted } = mongoose

type SessionDocument = Omit<Session, 'id'> & {
  _id: string
  ended_at: Date | null
  audit: AuditEntry[]
} & OutboxToken
type SessionModel = mongoose.Model<SessionDocument>

const sessionSchema = new Schema<SessionDocument>(
  {
    _id: text,
    token_hash: text,
    user_id: text,
    account_id: text,
    created_at: date,
    last_seen_at: date,
    expires_at: date,
    ended_at: { type: Date, default: null },
    user_agent: { type: String, default: '' },
    factor_epoch: Number,
    proven_at: Date,
    proven_by: String,
  },
  STRICT_SCHEMA,
)
sessionSchema.index({ token_hash: 1 }, { unique: true })
sessionSchema.index({ user_id: 1 })
// No TTL index: the database would delete sessions before their end is in the audit trail.
sessionSchema.index({ ended_at: 1, expires_at: 1 })
sessionSchema.index({ ended_at: 1, last_seen_at: 1 })
sessionSchema.index({ ended_at: 1, created_at: 1 })
addOutbox(sessionSchema)

/** When a session lapses: `mostMs` after sign-in whatever happens, and `idleMs` after its last use. */
export interface SessionLimits {
  mostMs: number
  idleMs: number
}

const SHORT_SESSIONS: SessionLimits = { mostMs: 7 * 86_400_000, idleMs: 12 * 3_600_000 }

/** Milliseconds between two writes of a session's last use, so that a busy page costs one write a minute. */
const TOUCH_GAP_MS = 60_000

export type SessionStore = ReturnType<typeof createSessionStore>

/**
 * Sessions on mongoose. Every process sees the end of a session at once; an ended session stays stored, without effect, until
 * its audit entries are in the trail.
 */
export function createSessionStore(
  connection: StoreConnection,
  wake: Wake = noWake,
  limits: SessionLimits = SHORT_SESSIONS,
) {
  const model = connection.model<SessionDocument>('Session', sessionSchema, 'sessions')
  const writer = createWriter(model, wake, toSession)
  return {
    limits,
    ...uses(model, writer, limits),
    ...endings(model, writer, limits),
    /** Deletes ended sessions whose audit entries are in the trail. @returns how many */
    deleteEnded(): Promise<number> {
      // Means the same as "not null", but as a bound at which an index scan can begin.
      const settled = { ended_at: { $gt: new Date(0) }, outbox_token: null }
      return deleteEach(connection.collection('sessions'), settled)
    },
  }
}

type Writer = ReturnType<typeof createWriter<SessionDocument, Session>>

function uses(model: SessionModel, writer: Writer, limits: SessionLimits) {
  const findOne = async (filter: mongoose.QueryFilter<SessionDocument>) => {
    const found = await model.findOne(filter).lean<SessionDocument>()
    return found === null ? undefined : toSession(found)
  }
  return {
    async insert(session: Session, audit: AuditEntry): Promise<void> {
      await writer.insert(documentOf({ ...session, ended_at: null, audit: [audit] }))
    },
    /** Finds a session by cookie hash if it is live: not ended, and within the idle and the absolute limit at `now`. */
    findByToken: (tokenHash: string, now: Date) => findOne({ token_hash: tokenHash, ...liveAt(now, limits) }),
    findLive: (id: string, now: Date) => findOne({ _id: id, ...liveAt(now, limits) }),
    /** Returns the person's sessions live at `now`, the latest used first. */
    async liveOf(userId: string, now: Date, limit: number): Promise<Session[]> {
      const query = model.find({ user_id: userId, ...liveAt(now, limits) }).sort({ last_seen_at: -1, _id: 1 })
      return (await query.limit(limit).lean<SessionDocument[]>()).map(toSession)
    },
    /** Returns which of these sessions are live at `now`: one query for all open streams. */
    async liveAmong(ids: readonly string[], now: Date): Promise<string[]> {
      const query = model.find({ _id: trusted({ $in: [...ids] }), ...liveAt(now, limits) }, { _id: 1 })
      const found = await query.batchSize(ids.length + 1).lean<{ _id: string }[]>()
      return found.map(({ _id }) => _id)
    },
    /** Notes a proof of presence. @returns false when the session has ended */
    async noteProof(id: string, at: Date, by: string): Promise<boolean> {
      const proof = { proven_at: at, proven_by: by }
      const { matchedCount } = await model.updateOne({ _id: id, ended_at: null }, { $set: proof })
      return matchedCount === 1
    },
    /** Notes a use of the session, at most once a minute; `last_seen_at` is the value just read. */
    async touch({ id, last_seen_at }: Pick<Session, 'id' | 'last_seen_at'>, at: Date): Promise<void> {
      if (at.getTime() - last_seen_at.getTime() <= TOUCH_GAP_MS) return
      const stale = trusted({ $lt: new Date(at.getTime() - TOUCH_GAP_MS) })
      await model.updateOne({ _id: id, last_seen_at: stale, ended_at: null }, { $set: { last_seen_at: at } })
    },
  }
}

function endings(model: SessionModel, writer: Writer, limits: SessionLimits) {
  const end = (filter: mongoose.QueryFilter<SessionDocument>, at: Date, audit: AuditEntry) =>
    writer.update({ ...filter, ended_at: null }, withOutbox({ $set: { ended_at: at } }, [audit]))
  return {
    /** Ends a session. @returns false when it had ended already. */
    end: (id: string, at: Date, audit: AuditEntry) => end({ _id: id }, at, audit),
    /** Ends all sessions of the person; `entryOf` makes the audit entry of each. @returns how many */
    async endAllOf(userId: string, at: Date, entryOf: (session: Session) => AuditEntry): Promise<number> {
      const live = await model.find({ user_id: userId, ended_at: null }).lean<SessionDocument[]>()
      const ended = live.map((found) => end({ _id: found._id }, at, entryOf(toSession(found))))
      return (await Promise.all(ended)).filter(Boolean).length
    },
    /** Returns sessions that were not ended, whether they have lapsed or not. */
    async notEnded(limit: number): Promise<Session[]> {
      const found = await model.find({ ended_at: null }).limit(limit).lean<SessionDocument[]>()
      return found.map(toSession)
    },
    /** Returns sessions past their idle or absolute limit at `now` that were not ended. */
    async lapsed(now: Date, limit: number): Promise<Session[]> {
      const found = await model.find(lapsedAt(now, limits)).limit(limit).lean<SessionDocument[]>()
      return found.map(toSession)
    },
    /** Ends a session that has lapsed at `now`. @returns false when it has not, or was ended already. */
    endLapsed: (id: string, now: Date, audit: AuditEntry) =>
      end({ _id: id, ...lapsedAt(now, limits) }, now, audit),
  }
}

/** The condition for live sessions. The present limits also end sessions that began, and got their expiry, under longer ones. */
function liveAt(now: Date, { mostMs, idleMs }: SessionLimits) {
  return {
    ended_at: null,
    expires_at: trusted({ $gt: now }),
    created_at: trusted({ $gt: before(now, mostMs) }),
    last_seen_at: trusted({ $gt: before(now, idleMs) }),
  }
}

function lapsedAt(now: Date, { mostMs, idleMs }: SessionLimits) {
  const over = [
    { expires_at: trusted({ $lte: now }) },
    { created_at: trusted({ $lte: before(now, mostMs) }) },
    { last_seen_at: trusted({ $lte: before(now, idleMs) }) },
  ]
  return { ended_at: null, $or: over }
}

function before(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms)
}

function toSession(document: SessionDocument): Session {
  const { _id, ended_at: _ended, audit: _audit, outbox_token: _token, ...rest } = document
  return { id: _id, ...rest }
}

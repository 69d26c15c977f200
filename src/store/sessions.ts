import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { Session } from '../domain/user.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { deleteEach } from './each.ts'
import { leanSound } from './failures.ts'
import { date, text } from './fields.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from './outbox.ts'
import { documentOf } from './record.ts'
import { createWriter } from './writer.ts'

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
  },
  STRICT_SCHEMA,
)
sessionSchema.index({ token_hash: 1 }, { unique: true })
sessionSchema.index({ user_id: 1 })
// No TTL index: the database would delete sessions whose end the audit trail has not heard of.
sessionSchema.index({ ended_at: 1, expires_at: 1 })
sessionSchema.index({ ended_at: 1, last_seen_at: 1 })
sessionSchema.index({ ended_at: 1, created_at: 1 })
addOutbox(sessionSchema)

/** When a session is over by itself: so long after sign-in whatever happens, and when it is not used for so long. */
export interface SessionLimits {
  mostMs: number
  idleMs: number
}

const SHORT_SESSIONS: SessionLimits = { mostMs: 7 * 86_400_000, idleMs: 12 * 3_600_000 }

/** The gap between two notes of use, so that a busy page costs one write a minute. */
const TOUCH_GAP_MS = 60_000

export type SessionStore = ReturnType<typeof createSessionStore>

/**
 * Sessions on mongoose. Ending one is a write that every process sees at once; an ended one stays, worth nothing, until its
 * audit entries are in the trail.
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
      // Says the same as that it is not null, but in a way that an index can begin at.
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
    /** Live — not ended, within the idle and the absolute limit at `now` — by cookie hash. */
    findByToken: (tokenHash: string, now: Date) => findOne({ token_hash: tokenHash, ...liveAt(now, limits) }),
    findLive: (id: string, now: Date) => findOne({ _id: id, ...liveAt(now, limits) }),
    /** Sessions of the person that are live at `now`, the latest used first. */
    async liveOf(userId: string, now: Date, limit: number): Promise<Session[]> {
      const query = model.find({ user_id: userId, ...liveAt(now, limits) }).sort({ last_seen_at: -1, _id: 1 })
      return (await query.limit(limit).lean<SessionDocument[]>()).map(toSession)
    },
    /** Which of these are live at `now`: one query for all streams that are open. */
    async liveAmong(ids: readonly string[], now: Date): Promise<string[]> {
      const query = model.find({ _id: trusted({ $in: [...ids] }), ...liveAt(now, limits) }, { _id: 1 })
      const found = await query.batchSize(ids.length + 1).lean<{ _id: string }[]>()
      return found.map(({ _id }) => _id)
    },
    /** Notes a proof of presence. @returns false when the session has ended */
    async noteProof(id: string, at: Date): Promise<boolean> {
      const { matchedCount } = await model.updateOne({ _id: id, ended_at: null }, { $set: { proven_at: at } })
      return matchedCount === 1
    },
    /** Notes that the session is used, at most once a minute: as it was read just now. */
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
    /** @returns false when it was over already. */
    end: (id: string, at: Date, audit: AuditEntry) => end({ _id: id }, at, audit),
    /** Ends all sessions of the person; `entryOf` makes the audit entry of each. */
    async endAllOf(userId: string, at: Date, entryOf: (session: Session) => AuditEntry): Promise<number> {
      const live = await leanSound<SessionDocument[]>(model.find({ user_id: userId, ended_at: null }))
      const ended = live.map((found) => end({ _id: found._id }, at, entryOf(toSession(found))))
      return (await Promise.all(ended)).filter(Boolean).length
    },
    /** Sessions past their idle or absolute limit at `now` that were not ended. */
    async lapsed(now: Date, limit: number): Promise<Session[]> {
      const found = await leanSound<SessionDocument[]>(model.find(lapsedAt(now, limits)).limit(limit))
      return found.map(toSession)
    },
    /** Ends a session that is lapsed at `now`. @returns false when it is not, or was ended already. */
    endLapsed: (id: string, now: Date, audit: AuditEntry) =>
      end({ _id: id, ...lapsedAt(now, limits) }, now, audit),
  }
}

/** Also those that began when the limit was longer end with it: what each was promised then does not count. */
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

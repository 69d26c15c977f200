import { randomUUID } from 'node:crypto'
import mongoose, { Schema } from 'mongoose'
import type { Clock, LimitState } from '../flow/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { isDuplicateKey } from './failures.ts'
import { date, text } from './fields.ts'

interface AttemptDocument {
  /** What is tried, and by whom or on whom. */
  _id: string
  /** The latest that were let through, newest first: never more than the limit. */
  taken: { at: Date; token: string }[]
  expires_at: Date
}

const attemptSchema = new Schema<AttemptDocument>(
  {
    _id: text,
    taken: {
      type: [new Schema({ at: date, token: text }, { _id: false })],
      default: undefined,
    },
    expires_at: date,
  },
  STRICT_SCHEMA,
)
attemptSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** So many within that time, wherever on the clock it begins. */
export interface Allowance {
  most: number
  seconds: number
}

/** An attempt that was let through or not; `token` takes it back. */
export type Attempt = LimitState & { token: string }

/** Lost races in a row: each means that another attempt was let through or a counter lapsed. */
const MAX_TRIES = 16

/**
 * Attempts per subject (`totp:<address>`, …) in sliding windows, on mongoose: however a stretch of that length is laid, no more
 * than `most` are let through in it. One atomic upsert each, so that all processes count together (T26). An attempt that
 * is refused counts for nothing.
 */
export function createAttemptStore(connection: StoreConnection, clock: Clock) {
  const model = connection.model<AttemptDocument>('Attempt', attemptSchema, 'attempts')
  return {
    async take(subject: string, { most, seconds }: Allowance): Promise<Attempt> {
      const token = randomUUID()
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const at = clock.now()
        const since = new Date(at.getTime() - seconds * 1000)
        const taken = await model
          .findOneAndUpdate(
            { _id: subject, ...hasRoom(most, since) },
            {
              $push: { taken: { $each: [{ at, token }], $sort: { at: -1 }, $slice: most } },
              $set: { expires_at: new Date(at.getTime() + seconds * 1000) },
            },
            { upsert: true, returnDocument: 'after' },
          )
          .orFail()
          .lean<AttemptDocument>()
          .catch(unlessDuplicate)
        if (taken !== undefined) return stateOf(taken, { allowed: true, most, seconds, at, token })
        // The upsert met a document it did not match: one without room, or one of a first attempt made at this moment.
        const full = await model.findOne({ _id: subject }).lean<AttemptDocument>()
        if (full !== null && !roomIn(full, most, since))
          return stateOf(full, { allowed: false, most, seconds, at, token })
      }
      throw new Error(`attempts of ${subject.split(':', 1)[0]} could not be counted`)
    },
    /** Takes one that was let through back; what is gone stays gone. */
    async giveBack(subject: string, { token }: Pick<Attempt, 'token'>): Promise<void> {
      await model.updateOne({ _id: subject }, { $pull: { taken: { token } } })
    },
  }
}

/** Fewer than `most`, or the last of them is older than the window. */
function hasRoom(most: number, since: Date): mongoose.QueryFilter<AttemptDocument> {
  const last = `taken.${most - 1}`
  const { trusted } = mongoose
  return { $or: [{ [last]: trusted({ $exists: false }) }, { [`${last}.at`]: trusted({ $lte: since }) }] }
}

function roomIn({ taken }: AttemptDocument, most: number, since: Date): boolean {
  const last = taken[most - 1]
  return last === undefined || last.at <= since
}

function unlessDuplicate(error: unknown): undefined {
  if (!isDuplicateKey(error)) throw error
}

/** What is left, and when the oldest that counts no longer does. */
function stateOf(
  { taken }: AttemptDocument,
  about: Allowance & { allowed: boolean; at: Date; token: string },
): Attempt {
  const { allowed, most, seconds, at, token } = about
  const counted = taken.filter((one) => one.at.getTime() > at.getTime() - seconds * 1000)
  const oldest = counted.at(-1)?.at ?? at
  const resetAt = new Date(oldest.getTime() + seconds * 1000)
  const retryAfter = Math.max(1, Math.ceil((resetAt.getTime() - at.getTime()) / 1000))
  return { allowed, limit: most, remaining: Math.max(0, most - counted.length), resetAt, retryAfter, token }
}

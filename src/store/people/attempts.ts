import { randomUUID } from 'node:crypto'
import mongoose, { Schema } from 'mongoose'
import { type LimitState, limitState } from '../../domain/limits.ts'
import type { Clock } from '../../ports/ports.ts'
import { beyond } from '../clock.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { isDuplicateKey } from '../mongo/failures.ts'
import { date, part, text } from '../mongo/fields.ts'

interface AttemptDocument {
  /** The kind of attempt, and who makes it or against whom. */
  _id: string
  /** The latest attempts that were let through, newest first; at most the limit. */
  taken: { at: Date; token: string }[]
  expires_at: Date
}

const attemptSchema = new Schema<AttemptDocument>(
  {
    _id: text,
    taken: part,
    expires_at: date,
  },
  STRICT_SCHEMA,
)
attemptSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** At most `most` attempts in any window of `seconds`: a sliding window. */
export interface Allowance {
  most: number
  seconds: number
}

/** The outcome of an attempt; `giveBack` takes the `token`. */
export type Attempt = LimitState & { token: string }

/** Races an attempt may lose in a row; each loss means that another attempt was let through or a counter lapsed. */
const MAX_TRIES = 16

/**
 * Attempts per subject (`totp:<address>`, …) in sliding windows, on mongoose: any stretch of `seconds` lets through at most
 * `most` attempts. Each attempt is one atomic upsert, so that all processes share one count (T26). A refused attempt does
 * not count.
 */
export function createAttemptStore(connection: StoreConnection, clock: Pick<Clock, 'now'>) {
  const model = connection.model<AttemptDocument>('Attempt', attemptSchema, 'attempts')
  return {
    async take(subject: string, allowance: Allowance): Promise<Attempt> {
      const token = randomUUID()
      const counted = (at: Date) => ({
        $push: { taken: { $each: [{ at, token }], $sort: { at: -1 as const }, $slice: allowance.most } },
      })
      return { ...(await letThrough(model, clock, subject, allowance, counted)), token }
    },
    /**
     * Lets through what `take` would let through, and does not count it. It is a write like the attempts themselves, so that of
     * those that come at once it does not overtake any.
     */
    check(subject: string, allowance: Allowance): Promise<LimitState> {
      return letThrough(model, clock, subject, allowance, () => ({ $setOnInsert: { taken: [] } }))
    },
    /** Uncounts an attempt that was let through; does nothing when it has left the list. */
    async giveBack(subject: string, { token }: Pick<Attempt, 'token'>): Promise<void> {
      await model.updateOne({ _id: subject }, { $pull: { taken: { token } } })
    },
  }
}

async function letThrough(
  model: mongoose.Model<AttemptDocument>,
  clock: Pick<Clock, 'now'>,
  subject: string,
  { most, seconds }: Allowance,
  count: (at: Date) => mongoose.UpdateQuery<AttemptDocument>,
): Promise<LimitState> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const at = clock.now()
    const since = new Date(at.getTime() - seconds * 1000)
    const $set = { expires_at: new Date(at.getTime() + seconds * 1000) }
    const passed = await model
      .findOneAndUpdate(
        { _id: subject, ...hasRoom(most, since) },
        { ...count(at), $set },
        { upsert: true, returnDocument: 'after' },
      )
      .orFail()
      .lean<AttemptDocument>()
      .catch(unlessDuplicate)
    if (passed !== undefined) return stateOf(passed, { allowed: true, most, seconds, at })
    // The filter did not match the existing document: it has no room, or another first attempt has just inserted it.
    const full = await model.findOne({ _id: subject }).lean<AttemptDocument>()
    const latest = beyond(at)
    if ((full?.taken[0]?.at ?? at) > latest) {
      // The clock was set back since: they would count for as much longer.
      await model.updateOne({ _id: subject }, { $pull: { taken: { at: mongoose.trusted({ $gt: latest }) } } })
      continue
    }
    if (full !== null && !roomIn(full, most, since))
      return stateOf(full, { allowed: false, most, seconds, at })
  }
  throw new Error(`attempts of ${subject.split(':', 1)[0]} could not be counted`)
}

/** The filter for a subject with room: fewer than `most` attempts, or the `most`-th newest is older than the window. */
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

/** Computes how many attempts are left, and when the oldest counted one leaves the window. */
function stateOf(
  { taken }: AttemptDocument,
  { allowed, most, seconds, at: now }: Allowance & { allowed: boolean; at: Date },
): LimitState {
  const ends = taken.map(({ at }) => at.getTime() + seconds * 1000).filter((end) => end > now.getTime())
  const msLeft = (ends.at(-1) ?? now.getTime() + seconds * 1000) - now.getTime()
  return limitState(most, { taken: ends.length, now, msLeft }, allowed)
}

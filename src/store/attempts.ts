import mongoose, { Schema } from 'mongoose'
import type { Clock } from '../flow/ports.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'

interface AttemptDocument {
  /** `<subject>@<window start in Unix seconds>` */
  _id: string
  count: number
  expires_at: Date
}

const attemptSchema = new Schema<AttemptDocument>(
  {
    _id: { type: String, required: true },
    count: { type: Number, required: true },
    expires_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
attemptSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

export type AttemptStore = ReturnType<typeof createAttemptStore>

/**
 * Attempts per subject (`totp:<address>`, …) in fixed windows, on mongoose: one atomic upsert each, so that all processes
 * count together (T26).
 */
export function createAttemptStore(connection: StoreConnection, clock: Clock) {
  const model = connection.model<AttemptDocument>('Attempt', attemptSchema, 'attempts')
  return {
    /** @returns the number within the window, this one included, and when the window ends. */
    async take(subject: string, windowSeconds: number): Promise<{ count: number; ends: Date }> {
      const start = Math.floor(clock.now().getTime() / 1000 / windowSeconds) * windowSeconds
      const ends = new Date((start + windowSeconds) * 1000)
      const count = { $inc: { count: 1 }, $setOnInsert: { expires_at: ends } }
      const options = { upsert: true, returnDocument: 'after' } as const
      // Two first attempts of a window can collide on `_id`; the second try then meets the counter.
      for (let attempt = 0; ; attempt += 1) {
        try {
          const query = model.findOneAndUpdate({ _id: `${subject}@${start}` }, count, options)
          return { count: (await query.orFail().lean<AttemptDocument>()).count, ends }
        } catch (error) {
          if (!isDuplicateKey(error) || attempt > 0) throw error
        }
      }
    },
    /** Takes one attempt back out of the window that ends at `ends`; what is gone or at 0 stays. */
    async giveBack(subject: string, windowSeconds: number, ends: Date): Promise<void> {
      const start = ends.getTime() / 1000 - windowSeconds
      const taken = { _id: `${subject}@${start}`, count: mongoose.trusted({ $gt: 0 }) }
      await model.updateOne(taken, { $inc: { count: -1 } })
    },
  }
}

import mongoose, { Schema } from 'mongoose'
import { STRICT_SCHEMA, type StoreConnection, unlessTaken } from './connect.ts'

interface QuotaDocument {
  /** `<account>:<YYYY-MM>` */
  _id: string
  used: number
  month: string
}

const quotaSchema = new Schema<QuotaDocument>(
  {
    _id: { type: String, required: true },
    used: { type: Number, required: true },
    month: { type: String, required: true },
  },
  STRICT_SCHEMA,
)
quotaSchema.index({ month: 1 })

export type QuotaStore = ReturnType<typeof createQuotaStore>

/**
 * Counts requests per account and calendar month, on mongoose: one conditional upsert each, exact across processes. Over the
 * quota nothing is counted. `month` is `YYYY-MM`, UTC.
 */
export function createQuotaStore(connection: StoreConnection) {
  const model = connection.model<QuotaDocument>('Quota', quotaSchema, 'quotas')
  return {
    /**
     * A full counter does not match, so the upsert runs into the existing `_id`. Two first requests of a month can collide the
     * same way; the second attempt then meets the counter the other one made.
     * @returns false when `quota` is used up. `quota` 0 = no limit.
     */
    async take(accountId: string, month: string, quota: number): Promise<boolean> {
      const room = quota === 0 ? {} : { used: mongoose.trusted({ $lt: quota }) }
      const count = { $inc: { used: 1 }, $setOnInsert: { month } }
      const take = () => model.updateOne({ _id: `${accountId}:${month}`, ...room }, count, { upsert: true })
      return (await unlessTaken(take)) || unlessTaken(take)
    },
    /** Gives one back when the request was not made after all. */
    async giveBack(accountId: string, month: string): Promise<void> {
      const taken = { _id: `${accountId}:${month}`, used: mongoose.trusted({ $gt: 0 }) }
      await model.updateOne(taken, { $inc: { used: -1 } })
    },
    /** How many were taken. */
    async used(accountId: string, month: string): Promise<number> {
      const found = await model.findById(`${accountId}:${month}`).lean<QuotaDocument>()
      return found?.used ?? 0
    },
    /** Forgets the counters of the months before this one. */
    async prune(month: string): Promise<void> {
      await model.deleteMany({ month: mongoose.trusted({ $lt: month }) })
    },
  }
}

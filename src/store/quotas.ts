import mongoose, { Schema } from 'mongoose'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { createTaker } from './shared-trips.ts'

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

/** Quota 0 is no limit. */
function roomFor(times: number, quota: number): object {
  return quota === 0 ? {} : { used: { $lte: quota - times } }
}

export type QuotaStore = ReturnType<typeof createQuotaStore>

/** One more in a counter, within a quota. */
interface Taking {
  _id: string
  month: string
  quota: number
}

/**
 * Counts requests per account and calendar month, exact across processes: all who wait at the same moment share one conditional
 * upsert. Over the quota nothing is counted. `month` is `YYYY-MM`, UTC.
 */
export function createQuotaStore(connection: StoreConnection) {
  const model = connection.model<QuotaDocument>('Quota', quotaSchema, 'quotas')
  // A counter without room does not match, so the upsert runs into the existing `_id`.
  const take = createTaker<Taking>(
    connection,
    'quotas',
    ({ _id, quota }) => `${_id} ${quota}`,
    (takings) => ({
      filter: { _id: takings[0]._id, ...roomFor(takings.length, takings[0].quota) },
      update: { $inc: { used: takings.length }, $setOnInsert: { month: takings[0].month } },
    }),
  )
  return {
    /** @returns false when `quota` is used up. `quota` 0 = no limit. */
    take: (accountId: string, month: string, quota: number): Promise<boolean> =>
      take({ _id: `${accountId}:${month}`, month, quota }),
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

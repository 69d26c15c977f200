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
  // A counter without room does not match, so the upsert runs into the existing `_id`. One that does not exist yet would be
  // made by it whatever the condition says, so no more than the whole quota is ever asked for.
  const take = createTaker<Taking>(
    connection,
    'quotas',
    ({ _id, quota }) => `${_id} ${quota}`,
    (takings) => {
      const [{ _id, month, quota }] = takings
      const times = takings.length
      if (quota !== 0 && times > quota) return undefined
      // Quota 0 is no limit.
      const room = quota === 0 ? {} : { used: { $lte: quota - times } }
      return { filter: { _id, ...room }, update: { $inc: { used: times }, $setOnInsert: { month } } }
    },
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

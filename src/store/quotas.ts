import mongoose, { Schema } from 'mongoose'
import type { QuotaStore } from '../flow/ports.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'

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

/** Monthly counters on mongoose: one conditional upsert each, exact across processes. */
export function createQuotaStore(connection: StoreConnection): QuotaStore {
  const model = connection.model<QuotaDocument>('Quota', quotaSchema, 'quotas')
  return {
    async take(accountId, month, quota) {
      const room = quota === 0 ? {} : { used: mongoose.trusted({ $lt: quota }) }
      return take(model, { _id: `${accountId}:${month}`, ...room }, month)
    },
    async giveBack(accountId, month) {
      const taken = { _id: `${accountId}:${month}`, used: mongoose.trusted({ $gt: 0 }) }
      await model.updateOne(taken, { $inc: { used: -1 } })
    },
    async used(accountId, month) {
      const found = await model.findById(`${accountId}:${month}`).lean<QuotaDocument>()
      return found?.used ?? 0
    },
    async prune(month) {
      await model.deleteMany({ month: mongoose.trusted({ $lt: month }) })
    },
  }
}

/**
 * A full counter does not match, so the upsert runs into the existing `_id`: E11000 means "used up". Two first requests of
 * a month can collide the same way; the second attempt then meets the counter the other one made.
 */
async function take(
  model: mongoose.Model<QuotaDocument>,
  filter: mongoose.QueryFilter<QuotaDocument>,
  month: string,
): Promise<boolean> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      await model.updateOne(filter, { $inc: { used: 1 }, $setOnInsert: { month } }, { upsert: true })
      return true
    } catch (error) {
      if (!isDuplicateKey(error)) throw error
    }
  }
  return false
}

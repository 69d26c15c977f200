import mongoose, { Schema } from 'mongoose'
import { MOST_PENDING } from '../domain/attention.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { deleteEach } from './each.ts'
import { date, text } from './fields.ts'
import { createTaker, type Upsert } from './shared-trips.ts'

/** A request that has reserved some of an approver's attention. */
export interface Reservation {
  id: string
  at: Date
}

/** Two kinds in one collection, so that what a request takes of both is one command. */
interface QuotaDocument {
  /** `<account>:<YYYY-MM>`: what the account has used of its quota in that month. `<account>:<approver>`: who has reservations. */
  _id: string
  used?: number
  month?: string
  held?: Reservation[]
}

const part = { _id: false, id: false, strict: 'throw' } as const
const heldFields = new Schema({ id: text, at: date }, part)

const quotaSchema = new Schema<QuotaDocument>(
  {
    _id: text,
    used: Number,
    month: String,
    held: { type: [heldFields], default: undefined },
  },
  STRICT_SCHEMA,
)
quotaSchema.index({ month: 1 })

/** What a request takes: one of its account's quota in that month, and reservations before these people. */
export interface Taken {
  accountId: string
  /** `YYYY-MM`, UTC. */
  month: string
  /** 0 = no limit. */
  quota: number
  people: readonly string[]
  reservation: Reservation
}

/** One more in a counter: of the month within the quota, or among those that have a reservation. */
type Taking = { _id: string; month: string; quota: number } | ({ _id: string; person: string } & Reservation)

/**
 * What limits new requests, exact across processes: how many an account makes a calendar month, and how many wait before one
 * approver, `MOST_PENDING` for each account (T24). All who wait at the same moment share one conditional upsert of each.
 */
export function createQuotaStore(connection: StoreConnection) {
  const model = connection.model<QuotaDocument>('Quota', quotaSchema, 'quotas')
  const take = createTaker<Taking>(connection, 'quotas', counterOf, upsertOf)
  const reservations = (accountId: string, userId: string) => ({ _id: `${accountId}:${userId}` })
  return {
    /**
     * Takes the reservations, then one of the quota. A request that has a reservation already is refused another one.
     * @returns who has no room for a reservation, then nothing of the quota is taken; or whether the quota is used up
     */
    async take(taken: Taken): Promise<{ full: string[]; usedUp: boolean }> {
      const { accountId, month, quota, people, reservation } = taken
      const refused = await take({
        first: people.map((person) => ({ ...reservations(accountId, person), person, ...reservation })),
        last: { _id: `${accountId}:${month}`, month, quota },
      })
      const full = refused.flatMap((one) => ('person' in one ? [one.person] : []))
      return { full, usedUp: full.length < refused.length }
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
    /** Who has a reservation before that person. */
    async held(accountId: string, userId: string): Promise<Reservation[]> {
      const found = await model.findOne(reservations(accountId, userId)).lean<QuotaDocument>()
      return found?.held ?? []
    },
    /** Frees the reservations of these requests. */
    async free(accountId: string, userId: string, requestIds: readonly string[]): Promise<void> {
      if (requestIds.length === 0) return
      const ids = mongoose.trusted({ $in: [...requestIds] })
      await model.updateOne(reservations(accountId, userId), { $pull: { held: { id: ids } } })
    },
    /** Forgets the counters of the months before this one. */
    async prune(month: string): Promise<void> {
      await deleteEach(connection.collection('quotas'), { month: { $lt: month } })
    },
  }
}

function counterOf(taking: Taking): string {
  return 'quota' in taking ? `${taking._id} ${taking.quota}` : taking._id
}

/** A counter without room does not match, so the upsert runs into the existing `_id`. */
function upsertOf(takings: readonly [Taking, ...Taking[]]): Upsert | undefined {
  const [taking] = takings
  const { _id } = taking
  const times = takings.length
  if ('quota' in taking) {
    const { month, quota } = taking
    // One that does not exist yet would be made whatever the condition says, so no more than the whole quota is ever asked for.
    if (quota !== 0 && times > quota) return undefined
    const room = quota === 0 ? {} : { used: { $lte: quota - times } }
    return { filter: { _id, ...room }, update: { $inc: { used: times }, $setOnInsert: { month } } }
  }
  // A negative place would hold for every counter.
  if (times > MOST_PENDING) return undefined
  const held = new Map(
    takings.flatMap((one) => ('person' in one ? [[one.id, { id: one.id, at: one.at }]] : [])),
  )
  return {
    filter: {
      _id,
      [`held.${MOST_PENDING - times}`]: { $exists: false },
      'held.id': { $nin: [...held.keys()] },
    },
    // Twice the same request is one reservation.
    update: { $push: { held: { $each: [...held.values()] } } },
  }
}

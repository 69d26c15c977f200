import mongoose, { Schema } from 'mongoose'
import { MOST_PENDING } from '../domain/attention.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { createTaker } from './shared-trips.ts'

/** A request that has reserved some of an approver's attention. */
interface Reservation {
  id: string
  at: Date
}

interface ReservationDocument {
  /** `<account>:<approver>` */
  _id: string
  held: Reservation[]
}

const part = { _id: false, id: false, strict: 'throw' } as const
const heldFields = new Schema(
  { id: { type: String, required: true }, at: { type: Date, required: true } },
  part,
)

const reservationSchema = new Schema<ReservationDocument>(
  { _id: { type: String, required: true }, held: { type: [heldFields], required: true } },
  STRICT_SCHEMA,
)

/** A reservation to be made in the list `_id`. */
type Taking = Reservation & { _id: string }

export type ReservationStore = ReturnType<typeof createReservationStore>

/**
 * Reservations of pending requests, for each account and approver `MOST_PENDING` (T24), on mongoose: one document for each account and
 * approver, which holds the requests that have one.
 */
export function createReservationStore(connection: StoreConnection) {
  const model = connection.model<ReservationDocument>('Reservation', reservationSchema, 'reservations')
  const nameOf = (accountId: string, userId: string) => `${accountId}:${userId}`
  // A list without room does not match, nor does one with such a request: the upsert then runs into the `_id`.
  const take = createTaker<Taking>(
    connection,
    'reservations',
    ({ _id }) => _id,
    (takings) => ({
      filter: {
        _id: takings[0]._id,
        [`held.${MOST_PENDING - takings.length}`]: { $exists: false },
        'held.id': { $nin: takings.map(({ id }) => id) },
      },
      // Twice the same request is one reservation.
      update: {
        $push: { held: { $each: [...new Map(takings.map(({ id, at }) => [id, { id, at }])).values()] } },
      },
    }),
  )
  return {
    /** Takes a reservation, in one conditional write; a request that holds one keeps it. @returns false when all are taken */
    async take(accountId: string, userId: string, requestId: string, at: Date): Promise<boolean> {
      const _id = nameOf(accountId, userId)
      if (await take({ _id, id: requestId, at })) return true
      return (await model.countDocuments({ _id, 'held.id': requestId })) > 0
    },
    async held(accountId: string, userId: string): Promise<Reservation[]> {
      const found = await model.findById(nameOf(accountId, userId)).lean<ReservationDocument>()
      return found?.held ?? []
    },
    /** Frees the reservations of these requests. */
    async free(accountId: string, userId: string, requestIds: readonly string[]): Promise<void> {
      if (requestIds.length === 0) return
      const ids = mongoose.trusted({ $in: [...requestIds] })
      await model.updateOne({ _id: nameOf(accountId, userId) }, { $pull: { held: { id: ids } } })
    },
  }
}

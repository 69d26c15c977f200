import mongoose, { Schema } from 'mongoose'
import { refusal } from '../../domain/errors.ts'
import { deleteEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { date, number, part, text } from '../mongo/fields.ts'
import { UNEXPIRED } from '../mongo/filters.ts'
import { recordIn } from '../mongo/record.ts'

/** A one-time link to set up the first owner or an invited person. Only the token's keyed hash is stored. */
export interface Enrollment {
  id: string
  kind: 'setup' | 'invite'
  token_hash: string
  /** Invitations: the person invited. */
  user_id?: string
  /** Invitations to become a member: the account. Without it, the operator gave the link out. */
  account_id?: string
  /** The operator gave out this invitation to become a member, on the command line. */
  by_operator?: true
  /** The person may set up their sign-in anew, as long as `openRecovery` finds the offer at the person. */
  recovery?: true
  /** While the person enrols with codes: what they typed (set-up), and the seed they were shown. */
  pending?: EnrollmentPending
  /** Codes compared so far; after five the link is dead. */
  tries: number
  expires_at: Date
  created_at: Date
}

interface EnrollmentPending {
  /** Set-up: the id the person will have; the seed is sealed for this id. */
  user_id: string
  email: string
  name: string
  account_name?: string
  sealed_seed: string
}

type EnrollmentDocument = Omit<Enrollment, 'id'> & { _id: string; place?: string }

const enrollmentSchema = new Schema<EnrollmentDocument>(
  {
    _id: text,
    kind: text,
    token_hash: text,
    user_id: String,
    account_id: String,
    by_operator: Boolean,
    recovery: Boolean,
    pending: part,
    tries: number,
    expires_at: date,
    created_at: date,
    place: String,
  },
  STRICT_SCHEMA,
)
enrollmentSchema.index({ token_hash: 1 }, { unique: true })
enrollmentSchema.index({ kind: 1, user_id: 1 })
enrollmentSchema.index({ place: 1 }, { unique: true, partialFilterExpression: { place: { $exists: true } } })
enrollmentSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Most codes that may be compared under one link. */
const TRIES = 5

/** Links issued at once for the same before giving up. */
const MAX_ATTEMPTS = 16

/** What a link is for: setting up, or one person, by the operator or into one account; an owner's link does not end the operator's. */
function placeOf({ kind, user_id, account_id, by_operator, recovery }: Omit<Enrollment, 'id'>): string {
  const place = [kind, user_id, account_id, by_operator && 'operator', recovery && 'recovery']
  return place.filter(Boolean).join(':')
}

/** One-time links on mongoose. A used or replaced link is deleted. */
export function createEnrollmentStore(connection: StoreConnection) {
  const model = connection.model<EnrollmentDocument>('Enrollment', enrollmentSchema, 'enrollments')
  const open = { tries: mongoose.trusted({ $lt: TRIES }), $expr: UNEXPIRED }
  return {
    /**
     * Stores a link in place of the one for the same. The unique place leaves one of links that are issued at once, which revoking
     * the others first does not: each could be stored after the other looked.
     */
    async insert({ id, ...rest }: Enrollment): Promise<void> {
      const place = placeOf(rest)
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        await model.deleteOne({ place })
        if (await unlessTaken(() => model.create({ _id: id, ...rest, place }), 'place')) return
      }
      throw refusal('unavailable')
    },
    /** Finds an open link: unused, unexpired (by the database's clock) and with tries left. */
    async find(tokenHash: string): Promise<Enrollment | undefined> {
      return recordIn(await model.findOne({ token_hash: tokenHash, ...open }).lean<EnrollmentDocument>())
    },
    async setPending(id: string, pending: EnrollmentPending): Promise<void> {
      await model.updateOne({ _id: id, ...open }, { $set: { pending } })
    },
    /** Takes one of five tries before a code is compared. @returns false when none is left. */
    async takeTry(id: string): Promise<boolean> {
      return (await model.updateOne({ _id: id, ...open }, { $inc: { tries: 1 } })).modifiedCount === 1
    },
    /**
     * Uses the link up. A link without tries left can still be used up, since its last try may be the right one.
     * @returns false when another call has used it, or it expired.
     */
    async consume(id: string): Promise<boolean> {
      return (await model.deleteOne({ _id: id, $expr: UNEXPIRED })).deletedCount === 1
    },
    /**
     * Deletes links of that kind, which a new one replaces; `by_operator: null` keeps those the operator gave out.
     * @returns how many of them were open
     */
    async revokeOpen(
      kind: Enrollment['kind'],
      of?: { user_id: string; account_id?: string; by_operator?: null },
    ): Promise<number> {
      const links = connection.collection<{ _id: string }>('enrollments')
      const ended = await deleteEach(links, { kind, ...of, ...open })
      // One without tries left may still be used up by the code of its last.
      await deleteEach(links, { kind, ...of })
      return ended
    },
  }
}

import mongoose from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import { isTotpOpen, type Totp, type User } from '../domain/user.ts'
import { withOutbox } from './outbox.ts'
import type { UserDocument } from './user-schema.ts'
import type { createWriter } from './writer.ts'

const { trusted } = mongoose
type Users = mongoose.Model<UserDocument>
type Writer = ReturnType<typeof createWriter<UserDocument, User>>

/** The outcome of a try that ends a round. */
export type RoundEnd = Pick<Totp, 'failures'> & { disabled: boolean }

/** The number of failures that ends a round with a lock, and the number that disables codes (T26; NIST allows 100). */
const ROUND = 10
const LAST = 50
const LOCK_MS = 15 * 60_000

/** Counts of failures just before a try that ends a round. */
const BEFORE_LOCK = Array.from({ length: LAST / ROUND }, (_, round) => (round + 1) * ROUND - 1)

/** Tries and uses of time-based codes. */
export function createTotpTries(users: Users, writer: Writer) {
  return {
    /**
     * Counts one wrong code (T26). The try that uses up a round locks codes, the last try of all disables them. Each is one
     * conditional write: if the lock were a second write, parallel guesses would slip in between.
     * @param entryOf makes the entry of a try that ends a round, for the same write
     * @returns the state after counting, or undefined when codes are locked, disabled or not set up.
     */
    async takeTotpTry(
      userId: string,
      at: Date,
      entryOf: (end: RoundEnd) => AuditEntry,
    ): Promise<Totp | undefined> {
      // Only a successful try between the read and the second write makes another pass necessary; it cannot go on for ever.
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const within = { ...openTotp(userId, at), 'totp.failures': trusted({ $nin: BEFORE_LOCK, $lt: LAST }) }
        const count = { $inc: { 'totp.failures': 1, version: 1 } }
        const query = users.findOneAndUpdate(within, count, { returnDocument: 'after' })
        const counted = await query.lean<UserDocument>()
        if (counted !== null) return counted.totp
        const now = (await users.findById(userId).lean<UserDocument>())?.totp
        if (now === undefined || !isTotpOpen(now, at)) return undefined
        const unchanged = { ...openTotp(userId, at), 'totp.failures': now.failures }
        const end = { failures: now.failures + 1, disabled: now.failures + 1 >= LAST }
        const ended = await writer.change(unchanged, withOutbox(endRound(end, at), [entryOf(end)]))
        if (ended !== undefined) return ended.totp
      }
      return undefined
    },
    /**
     * Burns the time step of a right code, which must be greater than every earlier one (T25). Clears failures and locks.
     * @returns false when codes are locked or disabled by now (T26), the step is used, or codes were set up again with another seed
     */
    async takeTotpStep(
      userId: string,
      { step, sealed_seed }: { step: number; sealed_seed: string },
      at: Date,
    ): Promise<boolean> {
      const unused = { 'totp.last_step': trusted({ $lt: step }), 'totp.sealed_seed': sealed_seed }
      const fresh = { 'totp.last_step': step, 'totp.failures': 0, 'totp.locks': 0, 'totp.locked_until': null }
      const filter = { ...openTotp(userId, at), ...unused }
      return (await users.updateOne(filter, { $set: fresh, $inc: { version: 1 } })).modifiedCount === 1
    },
  }
}

function openTotp(userId: string, at: Date) {
  return {
    _id: userId,
    'totp.disabled_at': null,
    $or: [{ 'totp.locked_until': null }, { 'totp.locked_until': trusted({ $lte: at }) }],
  }
}

/** Builds the update that ends a round. Locks double: 15, 30, 60, 120 minutes; the fifth round disables codes. */
function endRound({ failures, disabled }: RoundEnd, at: Date) {
  const count = { 'totp.failures': 1, version: 1 }
  if (disabled) return { $inc: count, $set: { 'totp.disabled_at': at } }
  const lock = LOCK_MS * 2 ** (failures / ROUND - 1)
  return {
    $inc: { ...count, 'totp.locks': 1 },
    $set: { 'totp.locked_until': new Date(at.getTime() + lock) },
  }
}

import mongoose from 'mongoose'
import type { Totp } from '../domain/user.ts'
import type { UserDocument } from './user-schema.ts'

const { trusted } = mongoose
type Users = mongoose.Model<UserDocument>

/** The number of failures that ends a round with a lock, and the number that disables codes (T26; NIST allows 100). */
const ROUND = 10
const LAST = 50
const LOCK_MS = 15 * 60_000

/** Counts of failures just before a try that ends a round. */
const BEFORE_LOCK = Array.from({ length: LAST / ROUND }, (_, round) => (round + 1) * ROUND - 1)

/** Tries and uses of time-based codes. */
export function createTotpTries(users: Users) {
  return {
    /**
     * Takes one try before a code is compared, so that parallel guesses are counted before they can succeed (T26). The try
     * that uses up a round locks codes, the last try of all disables them; a right code undoes both by `takeTotpStep`. Each
     * is one conditional write: if the lock were a second write, parallel guesses would slip in between.
     * @returns the state after counting, or undefined when codes are locked, disabled or not set up.
     */
    async takeTotpTry(userId: string, at: Date): Promise<Totp | undefined> {
      // Only a successful try between the read and the second write makes another pass necessary; it cannot go on for ever.
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const within = trusted({ $nin: BEFORE_LOCK, $lt: LAST })
        const count = { $inc: { 'totp.failures': 1, version: 1 } }
        const counted = await updateTotp(users, openTotp(userId, at, within), count)
        if (counted !== undefined) return counted
        const now = (await users.findById(userId).lean<UserDocument>())?.totp
        if (now === undefined || !isOpen(now, at)) return undefined
        const ended = await updateTotp(users, openTotp(userId, at, now.failures), endRound(now.failures, at))
        if (ended !== undefined) return ended
      }
      return undefined
    },
    /**
     * Burns a time step, which must be greater than every earlier one (T25). Clears failures and locks. `tried` is the result
     * of `takeTotpTry`: a try from before codes were disabled cannot enable them.
     */
    async takeTotpStep(userId: string, step: number, tried: Totp): Promise<boolean> {
      const filter = {
        _id: userId,
        'totp.last_step': trusted({ $lt: step }),
        // Codes set up again since the try have another seed; codes disabled since the try stay disabled.
        'totp.sealed_seed': tried.sealed_seed,
        'totp.disabled_at': tried.disabled_at,
      }
      const fresh = {
        'totp.last_step': step,
        'totp.failures': 0,
        'totp.locks': 0,
        'totp.locked_until': null,
        'totp.disabled_at': null,
      }
      return (await users.updateOne(filter, { $set: fresh, $inc: { version: 1 } })).modifiedCount === 1
    },
  }
}

function isOpen(totp: Totp, at: Date): boolean {
  return totp.disabled_at === null && (totp.locked_until === null || totp.locked_until <= at)
}

function openTotp(userId: string, at: Date, failures: number | { $nin: number[]; $lt: number }) {
  return {
    _id: userId,
    'totp.failures': failures,
    'totp.disabled_at': null,
    $or: [{ 'totp.locked_until': null }, { 'totp.locked_until': trusted({ $lte: at }) }],
  }
}

/** Builds the update that ends a round. Locks double: 15, 30, 60, 120 minutes; the fifth round disables codes. */
function endRound(failures: number, at: Date) {
  const count = { 'totp.failures': 1, version: 1 }
  if (failures + 1 >= LAST) return { $inc: count, $set: { 'totp.disabled_at': at } }
  const lock = LOCK_MS * 2 ** Math.floor(failures / ROUND)
  return {
    $inc: { ...count, 'totp.locks': 1 },
    $set: { 'totp.locked_until': new Date(at.getTime() + lock) },
  }
}

async function updateTotp(
  users: Users,
  filter: ReturnType<typeof openTotp>,
  change: mongoose.UpdateQuery<UserDocument>,
): Promise<Totp | undefined> {
  const query = users.findOneAndUpdate(filter, change, { returnDocument: 'after' })
  return (await query.lean<UserDocument>())?.totp
}

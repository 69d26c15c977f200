import mongoose from 'mongoose'
import type { Totp } from '../domain/user.ts'
import type { UserDocument } from './user-schema.ts'

const { trusted } = mongoose

/** The failure after which codes are locked (again), and the one after which they are disabled (T26; NIST allows 100). */
const ROUND = 10
const LAST = 50
const LOCK_MS = 15 * 60_000

/** Numbers of failures before the tries that end a round. */
const BEFORE_LOCK = [9, 19, 29, 39, 49]

/**
 * Counts one try. A try within a round is one conditional write. The try that ends a round also locks or disables, in the
 * same write: were the lock a second write, parallel guesses would slip in between.
 * @returns the state after counting, or undefined when codes are locked, disabled or not set up
 */
export async function takeTotpTry(
  users: mongoose.Model<UserDocument>,
  userId: string,
  at: Date,
): Promise<Totp | undefined> {
  // Only a success in between sends the second write back to the first; it cannot go on for ever.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const within = trusted({ $nin: BEFORE_LOCK, $lt: LAST })
    const counted = await update(users, open(userId, at, within), {
      $inc: { 'totp.failures': 1, version: 1 },
    })
    if (counted !== undefined) return counted
    const now = (await users.findById(userId).lean<UserDocument>())?.totp
    if (now === undefined || !isOpen(now, at)) return undefined
    const ended = await update(users, open(userId, at, now.failures), endRound(now.failures, at))
    if (ended !== undefined) return ended
  }
  return undefined
}

function isOpen(totp: Totp, at: Date): boolean {
  return totp.disabled_at === null && (totp.locked_until === null || totp.locked_until <= at)
}

function open(userId: string, at: Date, failures: number | { $nin: number[]; $lt: number }) {
  return {
    _id: userId,
    'totp.failures': failures,
    'totp.disabled_at': null,
    $or: [{ 'totp.locked_until': null }, { 'totp.locked_until': trusted({ $lte: at }) }],
  }
}

/** Doubles with every round: 15, 30, 60, 120 minutes, then never again. */
function endRound(failures: number, at: Date) {
  const count = { 'totp.failures': 1, version: 1 }
  if (failures + 1 >= LAST) return { $inc: count, $set: { 'totp.disabled_at': at } }
  const lock = LOCK_MS * 2 ** Math.floor(failures / ROUND)
  return {
    $inc: { ...count, 'totp.locks': 1 },
    $set: { 'totp.locked_until': new Date(at.getTime() + lock) },
  }
}

async function update(
  users: mongoose.Model<UserDocument>,
  filter: ReturnType<typeof open>,
  change: mongoose.UpdateQuery<UserDocument>,
): Promise<Totp | undefined> {
  const query = users.findOneAndUpdate(filter, change, { returnDocument: 'after' })
  return (await query.lean<UserDocument>())?.totp
}

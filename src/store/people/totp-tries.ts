import type mongoose from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Totp, User } from '../../domain/user.ts'
import { withOutbox } from '../mongo/outbox.ts'
import type { createWriter } from '../mongo/writer.ts'
import type { UserDocument } from './user-schema.ts'

type Users = mongoose.Model<UserDocument>
type Writer = ReturnType<typeof createWriter<UserDocument, User>>

/** The outcome of a try that ends a round. */
export type RoundEnd = Pick<Totp, 'failures'> & { disabled: boolean }

/** One try of a code, after it was compared. */
interface ComparedTry {
  /** The time step of a right code; undefined for a wrong one. */
  step: number | undefined
  at: Date
  /** Makes the entry of a try that ends a round, for the same write. */
  entryOf: (end: RoundEnd) => AuditEntry
}

/** The number of failures that ends a round with a lock, and the number that disables codes (T26; NIST allows 100). */
const ROUND = 10
const LAST = 50
const LOCK_MS = 15 * 60_000

/** Tries of time-based codes. */
export function createTotpTries(users: Users, writer: Writer) {
  return {
    /**
     * Settles a try that was compared with these codes. A right one burns its step (T25) and clears failures and locks; a wrong one
     * counts, and the one that uses up a round locks codes, the last of all disables them. Each is one write, on condition that
     * codes are as they were when it was compared: of tries at once the first to arrive counts, right or wrong (T26).
     * @returns codes after it; undefined when another try or another change came first
     */
    async settleTotpTry(userId: string, seen: Totp, tried: ComparedTry): Promise<Totp | undefined> {
      const { step, at, entryOf } = tried
      const same = { _id: userId, ...unchanged(seen) }
      const end = { failures: seen.failures + 1, disabled: seen.failures + 1 >= LAST }
      if (step === undefined && end.failures % ROUND === 0)
        return (await writer.change(same, withOutbox(endRound(end, at), [entryOf(end)])))?.totp
      const change = step === undefined ? { $inc: { 'totp.failures': 1, version: 1 } } : burn(step)
      const query = users.findOneAndUpdate(same, change, { returnDocument: 'after' })
      return (await query.lean<UserDocument>())?.totp
    },
  }
}

/** What every try changes, and every set-up of codes. */
function unchanged({ sealed_seed, last_step, failures, locked_until, disabled_at }: Totp) {
  return {
    'totp.sealed_seed': sealed_seed,
    'totp.last_step': last_step,
    'totp.failures': failures,
    'totp.locked_until': locked_until,
    'totp.disabled_at': disabled_at,
  }
}

function burn(step: number) {
  const fresh = { 'totp.last_step': step, 'totp.failures': 0, 'totp.locks': 0, 'totp.locked_until': null }
  return { $set: fresh, $inc: { version: 1 } }
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

import { refusal } from '../../domain/errors.ts'
import { limitSubject } from '../../domain/limits.ts'
import type { Totp, User } from '../../domain/user.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'
import { isCodeShaped, matchTotp } from './totp-code.ts'

type VerifyTotpDeps = Pick<PeopleDeps, 'users' | 'attempts' | 'vault' | 'clock' | 'random' | 'log'>

/** Wrong codes from one network address, whoever they are for: against spraying over accounts. */
const ADDRESS_LIMIT = 100
const ADDRESS_WINDOW_SECONDS = 15 * 60

/** What a person's seed is sealed for: swapped between two people it no longer opens (T28). */
export function totpAad(userId: string): string {
  return `totp:${userId}`
}

/**
 * Checks a code of this person and burns its time step. Every try is counted in the store before the comparison, so that
 * parallel guesses over many processes cannot exceed the limit (T26): ten wrong ones in a row lock codes for 15 minutes,
 * doubling; fifty disable them. A code counts once (T25). The limit of an address forgets tries that were right: people
 * who share one do not lock each other out.
 * @throws Refusal `totp_refused`, `totp_locked` (with `retry_after`), `totp_disabled`, `method_not_enrolled`
 */
export async function verifyTotp(
  deps: VerifyTotpDeps,
  input: { user: User; code: string; address?: string },
): Promise<{ step: number }> {
  if (!isCodeShaped(input.code)) throw refusal('totp_refused')
  if (input.user.totp === undefined) throw refusal('method_not_enrolled')
  const giveBack = await takeAddressTry(deps, input.address)
  const at = deps.clock.now()
  const tried = await deps.users.takeTotpTry(input.user.id, at)
  if (tried === undefined) throw await whyNoTry(deps, input.user.id, at)
  // Codes set up anew meanwhile have another seed: the fresh state counts, not the one read earlier.
  const step = matchTotp(deps.vault.open(tried.sealed_seed, totpAad(input.user.id)), input.code, at)
  if (step !== undefined && (await deps.users.takeTotpStep(input.user.id, step, tried))) {
    await giveBack()
    return { step }
  }
  await reportLock(deps, input, tried, at)
  throw refusal('totp_refused')
}

/**
 * Takes one of the address's tries; the counter never holds less than its wrong codes, so at most `ADDRESS_LIMIT` of them
 * are compared in a window, also in parallel. A try that is refused here is no wrong code and goes back.
 * @returns what gives the try back after a right code
 * @throws Refusal `totp_locked`
 */
async function takeAddressTry(deps: VerifyTotpDeps, address?: string): Promise<() => Promise<void>> {
  if (address === undefined) return async () => undefined
  const subject = `totp:${limitSubject(address)}`
  const { count, ends } = await deps.attempts.take(subject, ADDRESS_WINDOW_SECONDS)
  const giveBack = () => deps.attempts.giveBack(subject, ADDRESS_WINDOW_SECONDS, ends)
  if (count <= ADDRESS_LIMIT) return giveBack
  await giveBack()
  throw refusal('totp_locked', { retry_after: secondsUntil(ends, deps.clock.now()) })
}

async function whyNoTry(deps: VerifyTotpDeps, userId: string, at: Date) {
  const totp = (await deps.users.find(userId))?.totp
  if (totp === undefined) return refusal('method_not_enrolled')
  if (totp.disabled_at !== null) return refusal('totp_disabled')
  return refusal('totp_locked', { retry_after: secondsUntil(totp.locked_until ?? at, at) })
}

/** Tells the trail and the log when this try was the one that locked or disabled (T27). */
async function reportLock(
  deps: VerifyTotpDeps,
  { user, address }: { user: User; address?: string },
  tried: Totp,
  at: Date,
): Promise<void> {
  const disabled = tried.disabled_at !== null
  if (!disabled && (tried.locked_until === null || tried.locked_until <= at)) return
  const type = disabled ? 'factor.totp_disabled' : 'factor.totp_locked'
  const entry = personAudit(deps, type, user, {
    actor: { kind: 'service' },
    detail: { failures: tried.failures, ...(address === undefined ? {} : { address }) },
  })
  await deps.users.addAudit(user.id, entry)
  deps.log.warn({ user_id: user.id, failures: tried.failures }, disabled ? 'codes disabled' : 'codes locked')
}

/** Whole seconds, at least one. */
export function secondsUntil(end: Date, now: Date): number {
  return Math.max(1, Math.ceil((end.getTime() - now.getTime()) / 1000))
}

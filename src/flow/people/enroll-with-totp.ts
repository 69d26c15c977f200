import { refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import type { Totp } from '../../domain/user.ts'
import { drawBackupCodes } from './backup-codes.ts'
import { SERVICE_NAME } from './ceremony.ts'
import { type EnrollDeps, type EnrollmentGrant, finishEnrollment } from './finish-enrollment.ts'
import { openForEnrolling, profileFor } from './open-enrollment.ts'
import type { PeopleDeps } from './people-deps.ts'
import type { Client } from './start-session.ts'
import { describeSeed, isCodeShaped, matchTotp, newTotpSeed, type TotpSetUp } from './totp-code.ts'
import { totpAad } from './verify-totp.ts'

/**
 * Draws a seed under a link and shows it; it counts only after one right code (T28).
 * @throws Refusal `enrollment_invalid`, `<field> required`, `invalid_field`, `email_taken`
 */
export async function startTotpEnrollment(
  deps: PeopleDeps,
  input: { token: string; email?: string | undefined; name?: string | undefined },
): Promise<TotpSetUp> {
  const open = await openForEnrolling(deps, input.token)
  const profile = await profileFor(deps, open, input)
  const user_id = open.user?.id ?? drawId(deps, 'usr')
  const seed = newTotpSeed(deps.random)
  const sealed_seed = deps.vault.seal(seed, totpAad(user_id))
  await deps.enrollments.setPending(open.enrollment.id, { ...profile, user_id, sealed_seed })
  return describeSeed(seed, SERVICE_NAME, profile.email)
}

/**
 * Finishes it with the first code. Five wrong ones end the link.
 * @returns also ten backup codes, shown once
 * @throws Refusal `enrollment_invalid`, `totp_not_started`, `totp_refused`, `email_taken`
 */
export async function enrollWithTotp(
  deps: EnrollDeps,
  input: { token: string; code: string },
  client: Client,
): Promise<EnrollmentGrant & { backup_codes: string[] }> {
  const open = await openForEnrolling(deps, input.token)
  const { pending } = open.enrollment
  if (pending === undefined) throw refusal('totp_not_started')
  if (!isCodeShaped(input.code)) throw refusal('totp_refused')
  if (!(await deps.enrollments.takeTry(open.enrollment.id))) throw refusal('enrollment_invalid')
  const now = deps.clock.now()
  const step = matchTotp(deps.vault.open(pending.sealed_seed, totpAad(pending.user_id)), input.code, now)
  if (step === undefined) throw refusal('totp_refused')
  const backup = drawBackupCodes(deps, pending.user_id)
  const totp = confirmedTotp(pending.sealed_seed, step, now)
  const owner = { email: pending.email, name: pending.name, id: pending.user_id }
  const change = () => ({ totp, totp_pending: null, backup_codes: backup.hashes })
  const grant = await finishEnrollment(deps, open, owner, { method: 'totp', change }, client)
  return { ...grant, backup_codes: backup.codes }
}

/** Codes as they start: the first one is used up already (T25). */
export function confirmedTotp(sealedSeed: string, step: number, at: Date): Totp {
  return {
    sealed_seed: sealedSeed,
    confirmed_at: at,
    last_step: step,
    failures: 0,
    locked_until: null,
    locks: 0,
    disabled_at: null,
  }
}

import { refusal } from '../../domain/errors.ts'
import { isOutOfUse, nextFactorEpoch } from '../../domain/user.ts'
import type { PeopleDeps } from '../deps.ts'
import { confirmTotp, drawBackupCodes, drawSeed, isCodeShaped, type TotpSetUp } from './codes.ts'
import { changeOwn, personAudit } from './person.ts'
import {
  type Client,
  type EnrollmentGrant,
  renewSession,
  type SessionGrant,
  type SignedIn,
} from './sessions.ts'
import { drawDevice, withDevice } from './sign-in.ts'
import { checkOperation, type Proof, proveFactor } from './step-up.ts'

/** How long a shown seed waits for its first code. */
const PENDING_MS = 10 * 60_000

/**
 * Draws a seed and shows it, after a fresh proof by a factor the person has (T34). The seed counts after its first right code.
 * @throws Refusal `totp_exists`, and those of `proveFactor`
 */
export async function startAddingTotp(
  deps: PeopleDeps,
  who: SignedIn,
  proof: Proof | undefined,
  address: string,
): Promise<TotpSetUp> {
  const by = await proveFactor(deps, who, { operation: 'totp.add' }, proof, address)
  const { sealed_seed, shown } = drawSeed(deps, who.user)
  const expires_at = new Date(deps.clock.now().getTime() + PENDING_MS)
  await changeOwn(deps, who, (user) => {
    checkOperation(user, { operation: 'totp.add' })
    if (isOutOfUse(user, by)) throw refusal('proof_required')
    return { fields: { totp_pending: { sealed_seed, expires_at, tries: 0 } }, audit: [] }
  })
  return shown
}

/**
 * Confirms the seed with its first code; after five wrong codes the seed is void. New backup codes replace the old ones and
 * are shown once, and this browser becomes one where codes sign in.
 * @throws Refusal `totp_not_started`, `totp_refused`, `totp_exists`
 */
export async function addTotp(
  deps: PeopleDeps,
  who: SignedIn,
  code: string,
  client: Client,
): Promise<{ backup_codes: string[]; grant: EnrollmentGrant }> {
  if (!isCodeShaped(code)) throw refusal('totp_refused')
  const now = deps.clock.now()
  const pending = (await deps.users.takePendingTotpTry(who.user.id, now))?.totp_pending
  if (pending === undefined) throw refusal('totp_not_started')
  const totp = confirmTotp(deps, { ...pending, user_id: who.user.id }, code, now)
  const backup = drawBackupCodes(deps, who.user.id)
  const device = drawDevice(deps)
  const changed = await changeOwn(deps, who, (user) => {
    checkOperation(user, { operation: 'totp.add' })
    if (user.totp_pending?.sealed_seed !== pending.sealed_seed) throw refusal('totp_not_started')
    const fields = {
      totp,
      totp_pending: null,
      backup_codes: backup.hashes,
      devices: withDevice(user.devices, device.entry),
      ...nextFactorEpoch(user),
    }
    return {
      fields,
      audit: [personAudit(deps, 'factor.totp_added', user, { address: client.address })],
    }
  })
  deps.log.info({ user_id: changed.id }, 'codes added')
  const grant = await renewSession(deps, changed, who.session, client)
  return { backup_codes: backup.codes, grant: { ...grant, device: device.token } }
}

/**
 * Removes codes, and the backup codes with them, after a fresh proof by a passkey (T34).
 * @throws Refusal `not_found`, `last_factor`, and those of `proveFactor`
 */
export async function removeTotp(
  deps: PeopleDeps,
  who: SignedIn,
  proof: Proof | undefined,
  client: Client,
): Promise<SessionGrant> {
  await proveFactor(deps, who, { operation: 'totp.remove' }, proof, client.address)
  const changed = await changeOwn(deps, who, (user) => {
    checkOperation(user, { operation: 'totp.remove' })
    const audit = personAudit(deps, 'factor.totp_removed', user, { address: client.address })
    return {
      fields: { totp: null, totp_pending: null, backup_codes: [], ...nextFactorEpoch(user) },
      audit: [audit],
    }
  })
  deps.log.info({ user_id: changed.id }, 'codes removed')
  return renewSession(deps, changed, who.session, client)
}

/**
 * Replaces all backup codes, after a fresh proof.
 * @throws Refusal `method_not_enrolled`, and those of `proveFactor`
 */
export async function renewBackupCodes(
  deps: PeopleDeps,
  who: SignedIn,
  proof: Proof | undefined,
  client: Client,
): Promise<{ backup_codes: string[]; grant: SessionGrant }> {
  await proveFactor(deps, who, { operation: 'backup_codes.renew' }, proof, client.address)
  const backup = drawBackupCodes(deps, who.user.id)
  const changed = await changeOwn(deps, who, (user) => {
    checkOperation(user, { operation: 'backup_codes.renew' })
    const audit = personAudit(deps, 'factor.backup_codes_renewed', user, { address: client.address })
    return { fields: { backup_codes: backup.hashes, ...nextFactorEpoch(user) }, audit: [audit] }
  })
  return { backup_codes: backup.codes, grant: await renewSession(deps, changed, who.session, client) }
}

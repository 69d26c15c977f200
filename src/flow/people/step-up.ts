import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { refusal } from '../../domain/errors.ts'
import { factorsOf, type STEP_UP_OPERATIONS, type User, usablePasskeys } from '../../domain/user.ts'
import type { PeopleDeps } from '../deps.ts'
import { drawChallenge, takeChallenge } from './ceremony.ts'
import { verifyTotp } from './codes.ts'
import { assertionOptions } from './register-passkey.ts'
import type { SignedIn } from './sessions.ts'
import { verifyAssertion } from './verify-assertion.ts'

export interface StepUp {
  operation: (typeof STEP_UP_OPERATIONS)[number]
  /**
   * `passkey.remove`: the passkey's id. `chat.link`, `chat.channel`: the id of the one-time link. `key.change`: the key's
   * id. `member.invite`: the e-mail address as sent, or the member's user id. `member.change`, `delegate.change`: the user id
   * of whom it is about.
   */
  target?: string
}

/** A fresh proof, exactly one of the two. */
export type Proof = { passkey: AuthenticationResponseJSON } | { totp: string }

/**
 * Says how the person may confirm this operation and, where a passkey can, starts the ceremony: the assertion then counts
 * for this operation, target and session only.
 * @throws Refusal as `checkOperation` says
 */
export async function startStepUp(
  deps: PeopleDeps,
  { session, user }: SignedIn,
  stepUp: StepUp,
): Promise<{ methods: ('passkey' | 'totp')[]; options?: PublicKeyCredentialRequestOptionsJSON }> {
  checkOperation(user, stepUp)
  const methods = proofMethods(user, stepUp)
  if (!methods.includes('passkey')) return { methods }
  const challenge = await drawChallenge(deps, {
    purpose: 'step-up',
    user_id: user.id,
    session_id: session.id,
    subject: subjectOf(stepUp),
  })
  const allowed = { ...user, passkeys: otherPasskeys(user, stepUp) }
  return { methods, options: await assertionOptions({ user: allowed, challenge, rpId: deps.party.rpId }) }
}

/**
 * Checks that the person proves presence now, by a factor other than the one removed (T34).
 * @throws Refusal `proof_required`, `challenge_invalid`, `passkey_refused`, `totp_refused`, `totp_locked`,
 * `totp_disabled`, and those of `checkOperation`
 */
export async function proveFactor(
  deps: PeopleDeps,
  { session, user }: SignedIn,
  stepUp: StepUp,
  proof: Proof | undefined,
  address: string,
): Promise<void> {
  checkOperation(user, stepUp)
  if (proof === undefined) throw refusal('proof_required')
  if ('totp' in proof) {
    if (!proofMethods(user, stepUp).includes('totp')) throw refusal('proof_required')
    await verifyTotp(deps, { user, code: proof.totp, address })
    return
  }
  const belongs = { user_id: user.id, session_id: session.id, subject: subjectOf(stepUp) }
  const { expectedChallenge } = await takeChallenge(deps, proof.passkey, 'step-up', belongs)
  const others = { ...user, passkeys: otherPasskeys(user, stepUp) }
  await verifyAssertion(deps, { user: others, response: proof.passkey, expectedChallenge })
}

/**
 * Could the operation be done at all? Asked before a proof is used up.
 * @throws Refusal `not_found`, `last_factor`, `totp_exists`, `passkey_limit`, `identity_limit`, `method_not_enrolled`
 */
export function checkOperation(user: User, { operation, target }: StepUp): void {
  const { has_totp } = factorsOf(user)
  if (operation === 'passkey.add' && user.passkeys.length >= MAX_PASSKEYS) throw refusal('passkey_limit')
  if (operation === 'totp.add' && has_totp) throw refusal('totp_exists')
  // Backup codes stand in for codes: without codes they would be a factor that nothing shows and nothing removes.
  if (operation === 'backup_codes.renew' && user.totp === undefined) throw refusal('method_not_enrolled')
  if (operation === 'chat.link' && user.chat.length >= MAX_IDENTITIES) throw refusal('identity_limit')
  if (TARGETED.has(operation) && target === undefined) throw refusal('not_found')
  if (operation === 'totp.remove') {
    if (user.totp === undefined) throw refusal('not_found')
    if (usablePasskeys(user).length === 0) throw refusal('last_factor')
  }
  if (operation === 'passkey.remove') {
    if (!user.passkeys.some((passkey) => passkey.id === target)) throw refusal('not_found')
    if (otherPasskeys(user, { operation, target }).length === 0 && !has_totp) throw refusal('last_factor')
  }
}

const MAX_PASSKEYS = 20

const MAX_IDENTITIES = 10

/** Operations on one thing: a proof for it counts for no other. */
const TARGETED: ReadonlySet<StepUp['operation']> = new Set([
  'passkey.remove',
  'chat.link',
  'chat.channel',
  'key.change',
  'member.invite',
  'member.change',
  'delegate.change',
])

/**
 * What changes who decides is as grave as a high-impact request: a person who has a passkey must use it, or a relayed code could
 * switch off the very policy that demands one (T15).
 */
const GRAVE: ReadonlySet<StepUp['operation']> = new Set([
  'policy.change',
  'key.change',
  'member.invite',
  'member.change',
  'delegate.change',
])

function proofMethods(user: User, stepUp: StepUp): ('passkey' | 'totp')[] {
  const byPasskey = otherPasskeys(user, stepUp).length > 0
  const codesDo = stepUp.operation !== 'totp.remove' && !(byPasskey && GRAVE.has(stepUp.operation))
  const byTotp = factorsOf(user).has_totp && codesDo
  return [...(byPasskey ? (['passkey'] as const) : []), ...(byTotp ? (['totp'] as const) : [])]
}

/** Usable passkeys except the one to be removed. */
function otherPasskeys(user: User, stepUp: { operation: string; target?: string | undefined }) {
  const removed = stepUp.operation === 'passkey.remove' ? stepUp.target : undefined
  return usablePasskeys(user).filter((passkey) => passkey.id !== removed)
}

function subjectOf({ operation, target }: StepUp): string {
  return TARGETED.has(operation) ? `${operation}:${target}` : operation
}

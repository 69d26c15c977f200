import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { type Authenticators, narrower } from '../../domain/authenticator.ts'
import { refusal } from '../../domain/errors.ts'
import { factorsOf, type STEP_UP_OPERATIONS, type User, usablePasskeys } from '../../domain/user.ts'
import type { PeopleDeps } from '../deps.ts'
import { decidingRule, ownRule } from './accounts.ts'
import { drawChallenge, takeChallenge } from './ceremony.ts'
import { verifyTotp } from './codes.ts'
import { assertionOptions } from './register-passkey.ts'
import type { SignedIn } from './sessions.ts'
import { verifyAssertion } from './verify-assertion.ts'

export interface StepUp {
  operation: (typeof STEP_UP_OPERATIONS)[number]
  /**
   * `passkey.remove`: the passkey's id. `chat.link`, `chat.channel`: the id of the one-time link. `key.change`: the key's
   * id. `member.invite`: the e-mail address as sent, or the member's user id. `member.change`, `member.recover`,
   * `delegate.change`: the user id of the member or delegate.
   */
  target?: string
  /** A further rule for the confirming passkey: a policy is set with a passkey that satisfies that policy. */
  authenticators?: Authenticators | undefined
}

/** A fresh proof, exactly one of the two. */
export type Proof = { passkey: AuthenticationResponseJSON } | { totp: string }

/**
 * Returns how the person may confirm this operation and, where a passkey can, starts the ceremony: the assertion then counts
 * for this operation, target and session only.
 * @throws Refusal those of `checkOperation` and `ruleFor`
 */
export async function startStepUp(
  deps: PeopleDeps,
  { session, user }: SignedIn,
  stepUp: StepUp,
): Promise<{ methods: ('passkey' | 'totp')[]; options?: PublicKeyCredentialRequestOptionsJSON }> {
  checkOperation(user, stepUp)
  const rule = await ruleFor(deps, user, stepUp)
  const methods = proofMethods(user, stepUp, rule)
  if (!methods.includes('passkey')) return { methods }
  const challenge = await drawChallenge(deps, {
    purpose: 'step-up',
    user_id: user.id,
    session_id: session.id,
    subject: subjectOf(stepUp),
  })
  const allowed = { ...user, passkeys: otherPasskeys(user, stepUp) }
  return {
    methods,
    options: await assertionOptions(deps, { user: allowed, challenge, authenticators: rule }),
  }
}

/**
 * Checks that the person proves presence now, by a factor other than the one removed (T34). @returns by what: `Session.proven_by`
 * @throws Refusal `proof_required`, `challenge_invalid`, `passkey_refused`, `totp_refused`, `totp_locked`,
 * `totp_disabled`, and those of `checkOperation` and `ruleFor`
 */
export async function proveFactor(
  deps: PeopleDeps,
  { session, user }: SignedIn,
  stepUp: StepUp,
  proof: Proof | undefined,
  address: string,
): Promise<string> {
  checkOperation(user, stepUp)
  if (proof === undefined) throw refusal('proof_required')
  const authenticators = await ruleFor(deps, user, stepUp)
  if ('totp' in proof) {
    if (!proofMethods(user, stepUp, authenticators).includes('totp')) throw refusal('proof_required')
    await verifyTotp(deps, { user, code: proof.totp, address })
    return 'totp'
  }
  const belongs = { user_id: user.id, session_id: session.id, subject: subjectOf(stepUp) }
  const { expectedChallenge } = await takeChallenge(deps, proof.passkey, 'step-up', belongs)
  const others = { ...user, passkeys: otherPasskeys(user, stepUp) }
  await verifyAssertion(deps, { user: others, response: proof.passkey, expectedChallenge, authenticators })
  return proof.passkey.id
}

/** Operations for an account. Those on the person's own factors take any factor, or nobody could add the first that counts. */
const FOR_ACCOUNT: ReadonlySet<StepUp['operation']> = new Set([
  'session.prove',
  'chat.channel',
  'policy.change',
  'key.change',
  'member.invite',
  'member.change',
  'member.recover',
])

/**
 * Returns which passkeys count for the operation: one that the account does not count must not switch off the very policy that
 * says so.
 * @throws Refusal `authenticator_refused` where the person has no passkey that counts
 */
async function ruleFor(deps: PeopleDeps, user: User, stepUp: StepUp): Promise<Authenticators | undefined> {
  const { operation, authenticators } = stepUp
  if (operation !== 'delegate.change' && !FOR_ACCOUNT.has(operation)) return undefined
  const asked = await (operation === 'delegate.change' ? decidingRule(deps, user) : ownRule(deps, user))
  const rule = narrower(asked, authenticators)
  if (rule !== undefined && usablePasskeys(user, rule).length === 0) throw refusal('authenticator_refused')
  return rule
}

/**
 * Checks that the operation is possible at all, before a proof is used up.
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

/** Operations on one target: a proof for it counts for no other target. */
const TARGETED: ReadonlySet<StepUp['operation']> = new Set([
  'passkey.remove',
  'chat.link',
  'chat.channel',
  'key.change',
  'member.invite',
  'member.change',
  'member.recover',
  'delegate.change',
])

/**
 * Operations that change who decides are as grave as a high-impact request: a person who has a passkey must use it, or a relayed
 * code could switch off the very policy that demands a passkey (T15).
 */
const GRAVE: ReadonlySet<StepUp['operation']> = new Set([
  'policy.change',
  'key.change',
  'member.invite',
  'member.change',
  'member.recover',
  'delegate.change',
])

/** Returns the methods that count. Under a rule for passkeys codes do not: they would be a way around it. */
function proofMethods(user: User, stepUp: StepUp, rule: Authenticators | undefined): ('passkey' | 'totp')[] {
  const byPasskey = otherPasskeys(user, stepUp, rule).length > 0
  const barred = rule !== undefined || (byPasskey && GRAVE.has(stepUp.operation))
  const codesDo = stepUp.operation !== 'totp.remove' && !barred
  const byTotp = factorsOf(user).has_totp && codesDo
  return [...(byPasskey ? (['passkey'] as const) : []), ...(byTotp ? (['totp'] as const) : [])]
}

/** Usable passkeys except the one to be removed. */
function otherPasskeys(
  user: User,
  stepUp: { operation: string; target?: string | undefined },
  rule?: Authenticators,
) {
  const removed = stepUp.operation === 'passkey.remove' ? stepUp.target : undefined
  return usablePasskeys(user, rule).filter((passkey) => passkey.id !== removed)
}

function subjectOf({ operation, target }: StepUp): string {
  return TARGETED.has(operation) ? `${operation}:${target}` : operation
}

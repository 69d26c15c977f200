import { refusal } from '../../domain/errors.ts'
import type { Evidence } from '../../domain/request.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import { sha256Hex } from '../../signing/encoding.ts'
import type { ShownItem } from '../../store/challenges.ts'
import type { FlowDeps } from '../deps.ts'
import { challengeId, claimedChallenge } from '../people/ceremony.ts'
import { verifyTotp } from '../people/codes.ts'
import type { SignedIn } from '../people/sessions.ts'
import { verifyAssertion } from '../people/verify-assertion.ts'
import type { PresenceProof } from '../prove-presence.ts'

/** A batch that was asked for, taken for good. */
export interface TakenBatch {
  /** RFC 8785 text of the statement. */
  batch_json: string
  shown: readonly ShownItem[]
}

/**
 * Takes the batch, before anything else is looked at: whatever comes of it, it is used up (T33). It belongs to one person
 * and one session, and an assertion must answer this very statement.
 * @throws Refusal `challenge_invalid`
 */
export async function takeBatch(
  deps: Pick<FlowDeps, 'challenges'>,
  { session, user }: SignedIn,
  batchId: string,
  proof: PresenceProof,
): Promise<TakenBatch> {
  const taken = await deps.challenges.take(batchId, 'batch')
  if (taken?.intent_json === undefined || taken.shown === undefined) throw refusal('challenge_invalid')
  if (taken.user_id !== user.id || taken.session_id !== session.id) throw refusal('challenge_invalid')
  if (proof.method === 'passkey') {
    const claimed = claimedChallenge(proof.response)
    if (claimed === undefined || challengeId(claimed) !== batchId) throw refusal('challenge_invalid')
  }
  return { batch_json: taken.intent_json, shown: taken.shown }
}

/**
 * Checks the one proof for all items. One code counts for the whole batch and is burnt once (T25).
 * @returns what every vote of the batch keeps, with the statement that ties its intent to the gesture
 * @throws Refusal `method_not_enrolled`, `passkey_required` with the `ids` that demand one, `passkey_refused`, `totp_refused`, `totp_locked`,
 * `totp_disabled`
 */
export async function proveBatch(
  deps: FlowDeps,
  { user }: SignedIn,
  { batch_json, shown }: TakenBatch,
  proof: PresenceProof,
): Promise<Exclude<Evidence, { type: 'sandbox' }>> {
  checkMethod(user, shown, proof.method)
  if (proof.method === 'totp') {
    const { step } = await verifyTotp(deps, { user, code: proof.code, address: proof.address })
    return { type: 'totp', step, batch_json }
  }
  const expectedChallenge = Buffer.from(sha256Hex(batch_json), 'hex')
  const { evidence } = await verifyAssertion(deps, { user, response: proof.response, expectedChallenge })
  return { ...evidence, batch_json }
}

function checkMethod(user: User, shown: readonly ShownItem[], method: PresenceProof['method']): void {
  const { has_passkey, has_totp } = factorsOf(user)
  if (!(method === 'passkey' ? has_passkey : has_totp)) throw refusal('method_not_enrolled')
  const without = shown.filter(({ methods }) => !methods.includes(method))
  if (without.length > 0)
    throw refusal('passkey_required', { ids: without.map(({ request_id }) => request_id) })
}

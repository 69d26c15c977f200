import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import type { Authenticators } from '../../domain/authenticator.ts'
import { whoseVote, whyNot, whyNotMethod } from '../../domain/eligibility.ts'
import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { ConsentIntent, DecisionIntent } from '../../domain/intent.ts'
import type { ApproverSnapshot } from '../../domain/policy.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest, Evidence } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import { canonicalize } from '../../signing/canonical.ts'
import type { FlowDeps } from '../deps.ts'
import { stateChallenge, takeChallenge } from '../people/ceremony.ts'
import { verifyTotp } from '../people/codes.ts'
import { deciderFor } from '../people/delegates.ts'
import { assertionOptions } from '../people/register-passkey.ts'
import type { Confirming } from '../people/sessions.ts'
import { verifyAssertion } from '../people/verify-assertion.ts'
import { settleRequest } from './settle-request.ts'
import { referencesOf, stateIntent } from './state-intent.ts'

/** A person's fresh proof, by one of the two methods. */
export type PresenceProof =
  | { method: 'passkey'; response: AuthenticationResponseJSON }
  | { method: 'totp'; code: string; address: string }

/** The result of a proof: the method, the evidence, and the intent it was given for. */
export interface ProvenPresence {
  method: 'passkey' | 'totp'
  evidence: Evidence
  intent_json: string
}

/** What a person is to prove presence for. */
export interface Statement<Intent extends DecisionIntent | ConsentIntent> {
  purpose: 'decision' | 'bootstrap'
  /** The thing, the outcome and for whom: equal in what was shown and what is then posted (T16: approve flipped to reject). */
  subject: string
  /** Passkeys that count for it; undefined: any. */
  authenticators: Authenticators | undefined
  /** Builds the intent, with a salt drawn now. */
  state: () => Intent
}

/**
 * Starts the ceremony of one statement: states the intent and stores its hash as a challenge for this person, session and
 * subject. The challenge is unpredictable through the intent's 32-byte salt (WebAuthn L3 §13.4.3).
 */
export async function startProof<Intent extends DecisionIntent | ConsentIntent>(
  deps: FlowDeps,
  { session, user }: Confirming,
  { purpose, subject, authenticators, state }: Statement<Intent>,
): Promise<{ intent: Intent; options: PublicKeyCredentialRequestOptionsJSON }> {
  const intent = state()
  const binding = { purpose, user_id: user.id, session_id: session.id, subject }
  const challenge = await stateChallenge(deps, intent, binding)
  return { intent, options: await assertionOptions(deps, { user, challenge, authenticators }) }
}

/**
 * Checks the proof for exactly this statement, session and person. The challenge is taken before anything is compared, and the time
 * step is burnt before the outcome is told: a proof counts once (T16, T25, T33).
 * @throws Refusal `challenge_invalid`, `passkey_refused`, `authenticator_refused`, `totp_refused`, `totp_locked`, `totp_disabled`
 */
export async function provePresence(
  deps: FlowDeps,
  { session, user }: Confirming,
  { purpose, subject, authenticators, state }: Statement<DecisionIntent | ConsentIntent>,
  proof: PresenceProof,
): Promise<ProvenPresence> {
  if (proof.method === 'totp') {
    const { step } = await verifyTotp(deps, { user, code: proof.code, address: proof.address })
    return { method: 'totp', evidence: { type: 'totp', step }, intent_json: canonicalize(state()) }
  }
  const { response } = proof
  const belongs = { user_id: user.id, session_id: session.id, subject }
  const { expectedChallenge, challenge } = await takeChallenge(deps, response, purpose, belongs)
  const { intent_json } = challenge
  if (intent_json === undefined) throw refusal('challenge_invalid')
  const { evidence } = await verifyAssertion(deps, { user, response, expectedChallenge, authenticators })
  return { method: 'passkey', evidence, intent_json }
}

/** Builds the statement of a decision on a request that the person may decide now. */
export function decisionOn(
  deps: FlowDeps,
  person: User,
  { request, whose }: ReadyToDecide,
  decision: Outcome,
): Statement<DecisionIntent> {
  return {
    purpose: 'decision',
    subject: `${request.id}:${decision}:${whose.approver}`,
    authenticators: request.requirement.authenticators,
    state: () => stateIntent(deps, request, decision, referencesOf(whose, person)),
  }
}

/**
 * Starts the ceremony of one decision.
 * @throws Refusal those of `readyToDecide`
 */
export async function startDecision(
  deps: FlowDeps,
  who: Confirming,
  requestId: string,
  decision: Outcome,
): Promise<{ intent: DecisionIntent; options: PublicKeyCredentialRequestOptionsJSON }> {
  const ready = await readyToDecide(deps, who.user, requestId, 'passkey')
  return startProof(deps, who, decisionOn(deps, who.user, ready, decision))
}

/** A request that a person may decide now, and whose vote it would be: their own, or a vote of someone they stand in for. */
export interface ReadyToDecide {
  request: ApprovalRequest
  whose: ApproverSnapshot
}

/**
 * Reads the request, brings it up to date, and checks, in order, that this person may decide it with this factor.
 * @throws Refusal `not_found` unless they are named or stand in for a named approver, `not_pending`, `sandbox_request`,
 * `held_after_restore`, `already_voted`, `not_confirmed`, `passkey_required`, `authenticator_refused`, `method_not_enrolled`
 */
export async function readyToDecide(
  deps: FlowDeps,
  person: User,
  requestId: string,
  method: 'passkey' | 'totp',
): Promise<ReadyToDecide> {
  const found = isId('req', requestId) ? await deps.requests.find(requestId) : undefined
  if (found === undefined) throw refusal('not_found')
  const decider = await deciderFor(deps, person, found)
  if (whyNot(found, decider)?.code === 'not_found') throw refusal('not_found')
  const request = await settleRequest(deps, found)
  const refused = whyNot(request, decider) ?? whyNotMethod(request, decider, method)
  if (refused !== undefined) throw refused
  const whose = whoseVote(request, decider)
  if (whose === undefined) throw refusal('already_voted')
  return { request, whose }
}

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { whoseVote, whyNot, whyNotMethod } from '../domain/eligibility.ts'
import { refusal } from '../domain/errors.ts'
import { isId } from '../domain/identifier.ts'
import type { DecisionIntent } from '../domain/intent.ts'
import type { ApproverSnapshot } from '../domain/policy.ts'
import type { Outcome } from '../domain/receipt.ts'
import type { ApprovalRequest, Evidence } from '../domain/request.ts'
import type { User } from '../domain/user.ts'
import { canonicalize } from '../signing/canonical.ts'
import type { FlowDeps } from './deps.ts'
import { stateChallenge, takeChallenge } from './people/ceremony.ts'
import { verifyTotp } from './people/codes.ts'
import { deciderFor } from './people/delegates.ts'
import { assertionOptions } from './people/register-passkey.ts'
import type { Confirming } from './people/sessions.ts'
import { verifyAssertion } from './people/verify-assertion.ts'
import { settleRequest } from './settle-request.ts'
import { referencesOf, stateIntent } from './state-intent.ts'

/** A person's fresh proof, one of the two. */
export type PresenceProof =
  | { method: 'passkey'; response: AuthenticationResponseJSON }
  | { method: 'totp'; code: string; address: string }

/** What a proof yields: how, the evidence, and the intent it was given for. */
export interface ProvenPresence {
  method: 'passkey' | 'totp'
  evidence: Evidence
  intent_json: string
}

/**
 * Starts the ceremony of one decision: states the intent and stores its hash as a challenge for this person, session, request
 * and outcome. The challenge is unpredictable through the intent's 32-byte salt (WebAuthn L3 §13.4.3).
 * @throws Refusal as `readyToDecide` says
 */
export async function startDecision(
  deps: FlowDeps,
  { session, user: person }: Confirming,
  requestId: string,
  decision: Outcome,
): Promise<{ intent: DecisionIntent; options: PublicKeyCredentialRequestOptionsJSON }> {
  const { request, whose } = await readyToDecide(deps, person, requestId, 'passkey')
  const intent = stateIntent(deps, request, decision, referencesOf(whose, person))
  const challenge = await stateChallenge(deps, intent, {
    purpose: 'decision',
    user_id: person.id,
    session_id: session.id,
    request_id: request.id,
  })
  const { authenticators } = request.requirement
  return { intent, options: await assertionOptions(deps, { user: person, challenge, authenticators }) }
}

/**
 * Checks the proof for exactly this request, outcome, session and person it counts for. The challenge is taken, or the time step
 * burnt, before anything is compared: a proof counts once, whatever comes of it (T16, T25, T33).
 * @throws Refusal `challenge_invalid`, `passkey_refused`, `authenticator_refused`, `totp_refused`, `totp_locked`, `totp_disabled`
 */
export async function provePresence(
  deps: FlowDeps,
  who: Confirming,
  ready: ReadyToDecide,
  decision: Outcome,
  proof: PresenceProof,
): Promise<ProvenPresence> {
  if (proof.method === 'passkey') return provePasskey(deps, who, ready, decision, proof.response)
  const { user: person } = who
  const { step } = await verifyTotp(deps, { user: person, code: proof.code, address: proof.address })
  const intent = stateIntent(deps, ready.request, decision, referencesOf(ready.whose, person))
  return { method: 'totp', evidence: { type: 'totp', step }, intent_json: canonicalize(intent) }
}

async function provePasskey(
  deps: FlowDeps,
  { session, user: person }: Confirming,
  { request, whose }: ReadyToDecide,
  decision: Outcome,
  response: AuthenticationResponseJSON,
): Promise<ProvenPresence> {
  const belongs = { user_id: person.id, session_id: session.id, request_id: request.id }
  const { expectedChallenge, challenge } = await takeChallenge(deps, response, 'decision', belongs)
  const { intent_json } = challenge
  if (intent_json === undefined || !states(intent_json, decision, whose.approver))
    throw refusal('challenge_invalid')
  const { authenticators } = request.requirement
  const input = { user: person, response, expectedChallenge, authenticators }
  const { evidence } = await verifyAssertion(deps, input)
  return { method: 'passkey', evidence, intent_json }
}

/** Was the intent shown to the person the outcome that is now posted (T16: approve flipped to reject), for the same person? */
function states(intentJson: string, decision: Outcome, approver: string): boolean {
  const intent: unknown = JSON.parse(intentJson)
  if (intent === null || typeof intent !== 'object') return false
  if (!('decision' in intent) || !('approver' in intent)) return false
  return intent.decision === decision && intent.approver === approver
}

/** A request that a person may decide now, and whose vote it would be: their own, or that of whom they stand in for. */
export interface ReadyToDecide {
  request: ApprovalRequest
  whose: ApproverSnapshot
}

/**
 * Reads the request up to date and checks, in order, that this person may decide it with this factor.
 * @throws Refusal `not_found` unless they are named or stand in for a named approver, `not_pending`, `sandbox_request`,
 * `already_voted`, `not_confirmed`, `passkey_required`, `authenticator_refused`, `method_not_enrolled`
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

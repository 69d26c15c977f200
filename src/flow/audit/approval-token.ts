import { setTimeout as pause } from 'node:timers/promises'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { type ApprovalRequest, contextOf, usableUntil } from '../../domain/request.ts'
import { type ApprovalClaims, signApprovalToken } from '../../signing/approval-token.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import { type SigningKey, seconds } from '../../signing/key-record.ts'
import { NoSigningKeyError } from '../../signing/keys.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { consumeByToken, type Use } from '../requests/consume-request.ts'
import { findOwnRequest } from '../requests/read-request.ts'
import { placeInLog } from './read-log.ts'

/** The longest life of a token, in seconds. */
const TOKEN_SECONDS = 300

/** Milliseconds for which a token waits until the trail has the decision, and between two looks. */
const PLACE_MS = 2_000
const LOOK_MS = 50

/**
 * Uses up an approval by a token for the gateway that the request names as its audience. Called again, it gives the same token until
 * that expires: a gateway that remembers each `jti` as long carries an approval out once, and so does `consume`, since the two
 * exclude each other. Only the place in the log may be missing in the first one: no approval waits for a trail that is behind.
 * @throws Refusal `token_needs_audience`, and those of `consumeRequest`
 */
export async function giveToken(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  use: Use,
): Promise<{ request: ApprovalRequest; token: string; expires_at: Date }> {
  const { audience } = await findOwnRequest(deps, caller, id)
  if (audience === undefined) throw refusal('token_needs_audience')
  // Nothing is used up for a token that cannot be made.
  keyAt(deps, deps.clock.now())
  const request = await consumeByToken(deps, caller, id, use)
  const claims = claimsOf(request, audience, deps.settings.baseUrl)
  const expires_at = new Date(claims.exp * 1000)
  if (expires_at <= deps.clock.now()) throw refusal('already_consumed')
  // The key of that moment, not of now: a repeat after a rotation still gives the same token.
  const key = keyAt(deps, request.consumed_at ?? expires_at)
  const token = signApprovalToken({ ...claims, ...given({ log: await findPlace(deps, id) }) }, key)
  return { request, token, expires_at }
}

async function findPlace(deps: FlowDeps, id: string): Promise<ApprovalClaims['log']> {
  for (const until = deps.clock.steady() + PLACE_MS; ; ) {
    const [record] = await deps.trail.list({ subject: id, type: 'approval.approved', limit: 1 })
    if (record !== undefined) return placeInLog(deps, record.seq)
    if (deps.clock.steady() > until) return undefined
    await pause(LOOK_MS)
  }
}

function keyAt({ keys }: FlowDeps, at: Date): SigningKey {
  const key = keys.ring().active('token', at)
  if (key === undefined) throw new NoSigningKeyError('token')
  return key
}

function claimsOf(request: ApprovalRequest, aud: string, iss: string): ApprovalClaims {
  const { decision, consumed_at, votes } = request
  const vote = votes.find(({ decision_id }) => decision_id === decision?.id)
  // What was approved may have been erased since.
  if (consumed_at === undefined || vote?.receipt === undefined || vote.intent_json === '')
    throw refusal('already_consumed')
  const { signature, canonical_payload, public_key_id } = vote.receipt
  const iat = seconds(consumed_at)
  const ends = [request.expires_at, usableUntil(request)].flatMap((at) =>
    at === undefined ? [] : [seconds(at)],
  )
  return {
    iss,
    aud,
    sub: vote.approver,
    ...given({ delegate: vote.delegate }),
    jti: vote.decision_id,
    txn: request.id,
    iat,
    exp: Math.min(iat + TOKEN_SECONDS, ...ends),
    authorization_details: [
      {
        type: 'countersign:action',
        action: request.action,
        context_sha256: request.context_sha256,
        ...toolOf(request),
      },
    ],
    act: { sub: request.api_key_id },
    acr: vote.method === 'passkey' ? 'phr' : 'otp',
    intent_sha256: sha256Hex(vote.intent_json),
    receipt_sha256: sha256Hex(canonicalize({ canonical_payload, signature, public_key_id })),
  }
}

/** Names the tool that is about to run, as the context has it. */
function toolOf(request: ApprovalRequest): { tool?: string; arguments_sha256?: string } {
  const { tool, tool_arguments } = contextOf(request)
  return {
    ...(typeof tool === 'string' ? { tool } : {}),
    ...(tool_arguments === undefined ? {} : { arguments_sha256: sha256Hex(canonicalize(tool_arguments)) }),
  }
}

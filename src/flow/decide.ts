import { whyNot, whyNotMethod } from '../domain/eligibility.ts'
import { refusal } from '../domain/errors.ts'
import { tally } from '../domain/quorum.ts'
import type { Outcome } from '../domain/receipt.ts'
import type { ApprovalRequest, Vote } from '../domain/request.ts'
import { factorsOf, type User } from '../domain/user.ts'
import { closingChange, votingChange } from './close-request.ts'
import { drawId, type FlowDeps } from './deps.ts'
import { type PresenceProof, type ProvenPresence, provePresence } from './prove-presence.ts'
import { readForApprover } from './review-request.ts'
import { decisionTime } from './state-intent.ts'

/** One person's decision as it came in. */
export interface DecideInput {
  requestId: string
  decision: Outcome
  comment: string | null
  proof: PresenceProof
  address: string
}

/** Lost races in a row before giving up: each one means that somebody else's write went through. */
const MAX_ATTEMPTS = 64

/**
 * Records a vote and, when it is the closing one, the signed decision: eligibility → method → fresh proof → tally → one
 * conditional write. A lost race is read again; the proof was given for the request as such and stays good.
 * @returns the request after the write and the vote as it was counted
 * @throws Refusal `not_found`, `not_pending`, `already_voted`, `passkey_required`, `method_not_enrolled`, and those of
 * `provePresence`
 */
export async function decide(
  deps: FlowDeps,
  person: User,
  input: DecideInput,
): Promise<{ request: ApprovalRequest; vote: Vote }> {
  let request = await readForApprover(deps, person, input.requestId)
  refuseIneligible(request, person, input)
  const proven = await provePresence(deps, person, request, input.decision, input.proof)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const vote = castVote(deps, request, person, input, proven)
    const written = await writeVote(deps, request, person, vote, input.address)
    if (written !== undefined) {
      deps.changes.changed(request.id)
      return { request: written, vote }
    }
    request = await readForApprover(deps, person, input.requestId)
    refuseIneligible(request, person, input)
  }
  throw refusal('unavailable')
}

function refuseIneligible(request: ApprovalRequest, person: User, input: DecideInput): void {
  const decider = { user_id: person.id, ...factorsOf(person) }
  const refused = whyNot(request, decider) ?? whyNotMethod(request, decider, input.proof.method)
  if (refused !== undefined) throw refused
}

function castVote(
  deps: Pick<FlowDeps, 'random' | 'clock'>,
  request: ApprovalRequest,
  person: User,
  input: DecideInput,
  proven: ProvenPresence,
): Vote {
  return {
    decision_id: drawId(deps, 'dec'),
    user_id: person.id,
    on_behalf_of: person.id,
    approver: person.approver,
    decision: input.decision,
    method: proven.method,
    at: decisionTime(deps.clock.now(), request),
    comment: input.comment,
    intent_json: proven.intent_json,
    evidence: proven.evidence,
  }
}

async function writeVote(
  deps: FlowDeps,
  request: ApprovalRequest,
  person: User,
  vote: Vote,
  address: string,
): Promise<ApprovalRequest | undefined> {
  const actor = { kind: 'user', id: person.id, address } as const
  const outcome = tally([...request.votes, vote], request.requirement)
  const change =
    outcome === 'pending'
      ? votingChange(deps, request, vote, actor)
      : await closingChange(deps, request, [...request.votes, vote], outcome, actor)
  return deps.requests.recordVote(request.id, request.version, change)
}

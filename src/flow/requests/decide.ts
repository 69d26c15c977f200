import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import { tally } from '../../domain/eligibility.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import { limitSubject } from '../../domain/limits.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import { commentFault } from '../../domain/text-check.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import type { Confirming } from '../people/sessions.ts'
import { auditEntry, closingChange, votingChange } from './close-request.ts'
import {
  decisionOn,
  type PresenceProof,
  type ProvenPresence,
  provePresence,
  type ReadyToDecide,
  readyToDecide,
} from './prove-presence.ts'
import { decisionTime } from './state-intent.ts'

/** One person's decision as it came in. */
export interface DecideInput {
  requestId: string
  decision: Outcome
  comment: string | null
  /** Of a rejection. */
  reason?: string | undefined
  /** Reference of the person whose vote it is, as it was shown. */
  approver?: string | undefined
  proof: PresenceProof
  address: string
}

/** Lost races in a row before giving up: each one means that another process's write went through. */
const MAX_ATTEMPTS = 64

/**
 * Records a vote and, when it is the closing one, the signed decision: eligibility → method → whose vote → fresh proof → tally
 * → one conditional write.
 * @returns the request after the write and the vote as it was counted
 * @throws Refusal `invalid_field`, and those of `readyToDecide` and of `provePresence`
 */
export async function decide(
  deps: FlowDeps,
  who: Confirming,
  input: DecideInput,
): Promise<{ request: ApprovalRequest; vote: Vote }> {
  checkReason(input, input.decision)
  const ready = await readyToDecide(deps, who.user, input.requestId, input.proof.method)
  if (!isMeant(ready, who.user, input)) throw refusal('challenge_invalid')
  const statement = decisionOn(deps, who.user, ready, input.decision)
  const proven = await provePresence(deps, who, statement, input.proof)
  return recordVote(deps, who.user, ready, { ...input, proven })
}

/** Checks the reason of one or many decisions. @throws Refusal `invalid_field` */
export function checkReason(
  { reason, comment }: Pick<DecideInput, 'reason' | 'comment'>,
  ...decisions: readonly Outcome[]
): void {
  if (reason === undefined) return
  if (!decisions.includes('rejected')) throw invalidField('reason', 'goes only with a rejection')
  const fault = commentFault(withReason(comment, reason) ?? '')
  if (fault !== undefined) throw invalidField('comment', `${fault}, together with the reason`)
}

/** Returns the comment as the caller gets it. */
function withReason(comment: string | null, reason: string | undefined): string | null {
  if (reason === undefined) return comment
  return comment === null ? reason : `${reason}: ${comment}`
}

/**
 * Checks that the vote is the one that the person means to give. A passkey signs whose vote it is. A code does not: meanwhile the
 * person for whom they stood in may have voted, so that another would be next, or someone else may have signed in beside the
 * page (T16, T20).
 */
function isMeant({ whose }: ReadyToDecide, person: User, { approver, proof }: DecideInput): boolean {
  if (approver !== undefined) return approver === whose.approver
  return proof.method === 'passkey' || whose.user_id === person.id
}

/** What a person decided and proved. */
export interface ProvenDecision {
  decision: Outcome
  comment: string | null
  reason?: string | undefined
  proven: ProvenPresence
  address: string
  /** Asked after a lost race: is this still what the person was shown? */
  stillAsShown?: (ready: ReadyToDecide) => boolean
}

/**
 * Writes a proven vote. After a lost race the request is read again; the proof was given for the request as such and stays good,
 * as long as the vote is still for the person named in the intent.
 * @throws Refusal those of `readyToDecide`, `challenge_invalid`, `batch_changed`
 */
export function recordVote(
  deps: FlowDeps,
  person: User,
  first: ReadyToDecide,
  input: ProvenDecision,
): Promise<{ request: ApprovalRequest; vote: Vote }> {
  const { id: approval_id, traceparent } = first.request
  const attributes = { approval_id, decision: input.decision, method: input.proven.method }
  return deps.tracing.span(
    { name: 'decide', attributes, traceparent },
    () => writeProven(deps, person, first, input),
    ({ request }) => ({ status: request.status }),
  )
}

async function writeProven(
  deps: FlowDeps,
  person: User,
  first: ReadyToDecide,
  input: ProvenDecision,
): ReturnType<typeof recordVote> {
  let ready = first
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const vote = castVote(deps, ready, person, input)
    const written = await writeVote(deps, ready.request, person, vote, input.address)
    if (written !== undefined) {
      deps.changes.changed(written.id)
      return { request: written, vote }
    }
    ready = await readyToDecide(deps, person, first.request.id, input.proven.method)
    // The vote could now be for another principal of theirs, which is not what they consented to.
    if (ready.whose.user_id !== first.whose.user_id) throw refusal('challenge_invalid')
    if (input.stillAsShown?.(ready) === false) throw refusal('batch_changed')
  }
  throw refusal('unavailable')
}

function castVote(
  deps: FlowDeps,
  { request, whose }: ReadyToDecide,
  person: User,
  { decision, comment, reason, proven }: ProvenDecision,
): Vote {
  return {
    decision_id: drawId(deps, 'dec'),
    user_id: person.id,
    on_behalf_of: whose.user_id,
    approver: whose.approver,
    ...(whose.user_id === person.id ? {} : { delegate: person.approver }),
    decision,
    method: proven.method,
    at: decisionTime(deps.clock.now(), request),
    comment: withReason(comment, reason),
    ...given({ reason }),
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
  const noted = comesFromAsker(request, address) ? [await sameAddressEntry(deps, request, vote, actor)] : []
  const audit = [...change.audit, ...noted]
  return deps.requests.recordVote(request.id, request.version, { ...change, audit })
}

/**
 * Checks whether this is the address that made the request, or one of the same subscriber. Often both are in one office; but an
 * agent that drives the approver's browser looks the same.
 */
export function comesFromAsker(
  { asked_from }: Pick<ApprovalRequest, 'asked_from'>,
  address: string,
): boolean {
  return asked_from !== undefined && limitSubject(asked_from) === limitSubject(address)
}

/** Makes an entry that the person who decided and the account's owner get a notice of. */
async function sameAddressEntry(
  deps: FlowDeps,
  request: ApprovalRequest,
  { user_id, at }: Vote,
  actor: AuditActor,
): Promise<AuditEntry> {
  const owner_id = (await deps.accounts.find(request.account_id))?.owner_id
  const other = owner_id === undefined || owner_id === user_id ? {} : { owner_id }
  const entry = auditEntry(deps, request, 'approval.same_address', actor, at)
  return { ...entry, detail: { user_id, ...other } }
}

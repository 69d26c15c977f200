import { Refusal, refusal } from '../../domain/errors.ts'
import type { ApprovalRequest, Evidence, Vote } from '../../domain/request.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { ShownItem } from '../../store/requests/challenges.ts'
import type { FlowDeps } from '../deps.ts'
import { challengeId, claimedChallenge } from '../people/ceremony.ts'
import { verifyTotp } from '../people/codes.ts'
import { hasSameFactors } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { verifyAssertion } from '../people/verify-assertion.ts'
import { checkReason, recordVote } from './decide.ts'
import type { PresenceProof, ProvenPresence, ReadyToDecide } from './prove-presence.ts'
import { batchRule, type ReadItem, type ReadyItem, readItems } from './start-batch.ts'

/** The proof of a batch as it was posted. */
export interface DecideBatchInput {
  batchId: string
  /** Stored with every vote. */
  comment: string | null
  /** Stored with the rejections. */
  reason?: string | undefined
  proof: PresenceProof
  address: string
}

/** The result of one item: the vote or, when another write came first, the reason why there is none. */
export type BatchResult = { request: ApprovalRequest } & ({ vote: Vote } | { refused: Refusal })

/**
 * Decides many requests with one gesture: takes the batch, reads every request again and compares it with what was shown,
 * checks the proof, then writes each vote in a conditional write of its own, high impact first. Any difference refuses the
 * whole batch. There is no transaction over the documents: each vote is complete and provable by itself, and every promise
 * about a request is kept by the one write to it. If another person decides a request in the milliseconds in between, that
 * item gets no vote; a crash leaves the remaining requests pending.
 * @returns one result per item, in the order of the items
 * @throws Refusal `challenge_invalid`, `invalid_field`, `batch_changed` with `ids`, and those of `proveBatch`
 */
export async function decideBatch(
  deps: FlowDeps,
  signedIn: SignedIn,
  input: DecideBatchInput,
): Promise<BatchResult[]> {
  const batch = await takeBatch(deps, signedIn, input.batchId, input.proof)
  checkReason(input, ...batch.shown.map(({ decision }) => decision))
  const items = asShown(
    batch.shown,
    await readItems(
      deps,
      signedIn.user,
      batch.shown.map(({ request_id }) => request_id),
    ),
  )
  const evidence = await proveBatch(deps, signedIn, { ...batch, items }, input.proof)
  const results = new Map<string, BatchResult>()
  for (const item of inWritingOrder(items)) {
    const proven = { method: input.proof.method, evidence, intent_json: item.shown.intent_json }
    results.set(item.shown.request_id, await record(deps, signedIn, item, { ...input, proven }))
  }
  return batch.shown.flatMap(({ request_id }) => results.get(request_id) ?? [])
}

interface Item {
  shown: ShownItem
  ready: ReadyItem
}

/** Compares the requests with what was shown. @throws Refusal `batch_changed` with the ids of those that differ */
function asShown(shown: readonly ShownItem[], read: readonly ReadItem[]): Item[] {
  const items = shown.flatMap((one, index) => {
    const now = read[index]
    return now !== undefined && 'ready' in now && isAsShown(one, now.ready)
      ? [{ shown: one, ready: now.ready }]
      : []
  })
  if (items.length === shown.length) return items
  const same = new Set(items.map((item) => item.shown.request_id))
  const ids = shown.map(({ request_id }) => request_id).filter((id) => !same.has(id))
  throw refusal('batch_changed', { ids })
}

/** Checks one request. The question never changes, and a reminder changes nothing that was shown. */
function isAsShown(shown: ShownItem, { methods, ...ready }: ReadyItem): boolean {
  return sameVotes(shown, ready) && shown.methods.join() === methods.join()
}

/** Checks that the votes are the same and that the new vote would count for the same person. */
function sameVotes(shown: ShownItem, { request, whose }: ReadyToDecide): boolean {
  const votes = request.votes.map(({ decision_id }) => decision_id)
  return shown.whose === whose.user_id && shown.votes.join() === votes.join()
}

/** Puts high impact first: if the rest is lost in a crash, these are not among it. */
function inWritingOrder(items: readonly Item[]): Item[] {
  const gravity = ({ ready }: Item) => (ready.request.high_impact ? 0 : 1)
  return [...items].sort((a, b) => gravity(a) - gravity(b))
}

async function record(
  deps: FlowDeps,
  { user }: SignedIn,
  { shown, ready }: Item,
  { comment, reason, address, proven }: DecideBatchInput & { proven: ProvenPresence },
): Promise<BatchResult> {
  const stillAsShown = (again: ReadyToDecide) => sameVotes(shown, again)
  const { decision } = shown
  const why = decision === 'rejected' ? reason : undefined
  const input = { decision, comment, reason: why, address, proven, stillAsShown }
  try {
    // A reset of the person meanwhile has removed the factor that proved the gesture (T23).
    if (!(await hasSameFactors(deps, user))) throw refusal('not_signed_in')
    return await recordVote(deps, user, ready, input)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { request: (await deps.requests.find(shown.request_id)) ?? ready.request, refused: error }
  }
}

/** A started batch that has been taken and cannot be used again. */
interface TakenBatch {
  /** The statement as RFC 8785 text. */
  batch_json: string
  shown: readonly ShownItem[]
}

/**
 * Takes the batch before anything else is checked: whatever the outcome, it is used up (T33). It belongs to one person and
 * one session, and an assertion must answer this very statement.
 * @throws Refusal `challenge_invalid`
 */
async function takeBatch(
  deps: FlowDeps,
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
 * Checks the single proof for all items. One code counts for the whole batch and is used up once (T25).
 * @returns the evidence that every vote keeps, with the statement that ties its intent to the gesture
 * @throws Refusal `method_not_enrolled`, `passkey_required` with the `ids` that demand one, `passkey_refused`, `authenticator_refused`,
 * `totp_refused`, `totp_locked`, `totp_disabled`
 */
async function proveBatch(
  deps: FlowDeps,
  { user }: SignedIn,
  { batch_json, shown, items }: TakenBatch & { items: readonly Item[] },
  proof: PresenceProof,
): Promise<Exclude<Evidence, { type: 'sandbox' }>> {
  checkMethod(user, shown, proof.method)
  if (proof.method === 'totp') {
    const { step } = await verifyTotp(deps, { user, code: proof.code, address: proof.address })
    return { type: 'totp', step, batch_json }
  }
  const expectedChallenge = Buffer.from(sha256Hex(batch_json), 'hex')
  const rule = batchRule(
    user,
    items.map(({ ready }) => ready),
  )
  const asserted = { user, response: proof.response, expectedChallenge, authenticators: rule }
  const { evidence } = await verifyAssertion(deps, asserted)
  return { ...evidence, batch_json }
}

function checkMethod(user: User, shown: readonly ShownItem[], method: PresenceProof['method']): void {
  const { has_passkey, has_totp } = factorsOf(user)
  if (!(method === 'passkey' ? has_passkey : has_totp)) throw refusal('method_not_enrolled')
  const without = shown.filter(({ methods }) => !methods.includes(method))
  if (without.length > 0)
    throw refusal('passkey_required', { ids: without.map(({ request_id }) => request_id) })
}

import { Refusal, refusal } from '../../domain/errors.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import type { ShownItem } from '../../store/challenges.ts'
import { recordVote } from '../decide.ts'
import type { FlowDeps } from '../deps.ts'
import type { SignedIn } from '../people/sessions.ts'
import type { PresenceProof, ProvenPresence } from '../prove-presence.ts'
import type { ReadyToDecide } from '../ready-to-decide.ts'
import { proveBatch, takeBatch } from './prove-batch.ts'
import { type ReadItem, type ReadyItem, readItems } from './read-items.ts'

/** A batch as its proof came in. */
export interface DecideBatchInput {
  batchId: string
  /** Kept with every vote. */
  comment: string | null
  proof: PresenceProof
  address: string
}

/** What became of one item: the vote, or, where a race was lost while writing, why there is none. */
export type BatchResult = { request: ApprovalRequest } & ({ vote: Vote } | { refused: Refusal })

/**
 * Decides many requests with one gesture: the batch is taken, everything is read again and compared with what was shown,
 * the proof is checked, then each vote is written by a conditional write of its own, high impact first. A difference refuses
 * the whole batch. There is no transaction over the documents: each vote is complete and provable in itself, and every
 * promise about a request is kept by the one write to it. What somebody else decides in the milliseconds in between leaves
 * that one item without a vote; a crash leaves the rest pending.
 * @returns one result an item, in the order of the items
 * @throws Refusal `challenge_invalid`, `batch_changed` with `ids`, and those of `proveBatch`
 */
export async function decideBatch(
  deps: FlowDeps,
  signedIn: SignedIn,
  input: DecideBatchInput,
): Promise<BatchResult[]> {
  const batch = await takeBatch(deps, signedIn, input.batchId, input.proof)
  const items = asShown(
    batch.shown,
    await readItems(
      deps,
      signedIn.user,
      batch.shown.map(({ request_id }) => request_id),
    ),
  )
  const evidence = await proveBatch(deps, signedIn, batch, input.proof)
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

/** @throws Refusal `batch_changed`, naming what is not as it was shown */
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

/** What a request asks never changes; a reminder changes nothing that was shown. */
function isAsShown(shown: ShownItem, { methods, ...ready }: ReadyItem): boolean {
  return sameVotes(shown, ready) && shown.methods.join() === methods.join()
}

/** The same votes, and it would be the vote of the same person. */
function sameVotes(shown: ShownItem, { request, whose }: ReadyToDecide): boolean {
  const votes = request.votes.map(({ decision_id }) => decision_id)
  return shown.whose === whose.user_id && shown.votes.join() === votes.join()
}

/** Should the rest be lost, the graver ones are not among it. */
function inWritingOrder(items: readonly Item[]): Item[] {
  const gravity = ({ ready }: Item) => (ready.request.high_impact ? 0 : 1)
  return [...items].sort((a, b) => gravity(a) - gravity(b))
}

async function record(
  deps: FlowDeps,
  { user }: SignedIn,
  { shown, ready }: Item,
  { comment, address, proven }: DecideBatchInput & { proven: ProvenPresence },
): Promise<BatchResult> {
  const stillAsShown = (again: ReadyToDecide) => sameVotes(shown, again)
  const input = { decision: shown.decision, comment, address, proven, stillAsShown }
  try {
    return await recordVote(deps, user, ready, input)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { request: (await deps.requests.find(shown.request_id)) ?? ready.request, refused: error }
  }
}

import type { AuditActor } from '../../domain/audit.ts'
import { isId } from '../../domain/identifier.ts'
import { type ApprovalRequest, cardSubjectOf } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'
import { auditEntry } from '../requests/close-request.ts'
import { expireIfLapsed } from '../requests/settle-request.ts'
import { batchesOf } from '../tell/card-batch.ts'

/** Why a request cannot be erased: `busy`: something of it is on its way to the trail or to a callback. */
type Refused = { refused: 'unknown' | 'pending' | 'busy' }

/** What there is, or was, of a request to erase. */
interface RequestErasure {
  refused?: undefined
  request: ApprovalRequest
  /** This call erased the texts; false: an earlier one did, or nothing was to be changed. */
  erased: boolean
  deliveries: number
  /** Deliveries whose attempts are not over: they still hold the text that they send. */
  open_deliveries: number
  /** Cards whose messages are still to be edited. */
  cards: number
}

/**
 * Erases the texts of one finished request wherever they are: in its document, in deliveries at rest, and in chat, where its cards
 * are edited by a running service. Can be repeated: each step is one conditional write, and a later call does what an earlier one
 * left.
 * @param dry only counts
 */
export async function eraseRequest(
  deps: FlowDeps,
  id: string,
  actor: AuditActor,
  dry = false,
): Promise<RequestErasure | Refused> {
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  if (found === undefined) return { refused: 'unknown' }
  const request = await expireIfLapsed(deps, found)
  if (request.status === 'pending') return { refused: 'pending' }
  const { erasure } = deps
  const cardsOf = cardSubjectOf(request)
  if (dry) return { request, erased: false, ...(await erasure.count(id, { cardsOf })) }
  const before = await erasure.count(id, { cardsOf })
  const erased = request.erased_at === undefined
  if ((await erasure.unrecorded([id, cardsOf], false)).size > 0) return { refused: 'busy' }
  if (erased && (await erasure.erase([planErasure(deps, request, actor, 'shown')])) === 0)
    return { refused: 'busy' }
  const now = await deps.requests.find(id)
  if (now === undefined) return { refused: 'unknown' }
  const batch = (await batchesOf(deps, [now])).get(cardsOf)
  const { version } = batch ?? now
  // Also of an earlier call, which may have died before this.
  await deps.cards.follow([{ request_id: cardsOf, version, replies: [], at: deps.clock.now() }])
  // Cards whose message shows the erasure are deleted, and with them the ids of their chats; a card of several with the last of them.
  const stays = batch?.members.some(({ erased_at }) => erased_at === undefined) === true
  if (!erased && !stays) await erasure.deleteCards([cardsOf], version)
  await erasure.deleteDeliveries([id])
  await erasure.deleteChallenges(id)
  const { open_deliveries, cards } = await erasure.count(id, {
    cardsOf,
    ...(stays ? { behind: version } : {}),
  })
  return { request: now, erased, deliveries: before.deliveries, open_deliveries, cards }
}

/** Plans the write that erases a request's texts, with its entry. */
export function planErasure(
  deps: FlowDeps,
  request: ApprovalRequest,
  actor: AuditActor,
  how: 'whole' | 'texts' | 'shown',
) {
  const at = deps.clock.now()
  const type = how === 'whole' ? 'approval.deleted' : 'approval.erased'
  const audit = auditEntry(deps, request, type, actor, at)
  return { request, audit, at, how }
}

import mongoose from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import { type ApprovalRequest, ERASED, NO_CONTEXT, type Vote, withoutWords } from '../../domain/request.ts'
import { deleteEach, deleteThese } from '../mongo/bulk-writes.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { beyond, type ListPosition, OLDEST_FIRST } from '../mongo/filters.ts'
import { noWake, type Wake, withOutbox } from '../mongo/outbox.ts'
import { attachmentIds } from './attachments.ts'
import { type RequestDocument, requestOf } from './request-schema.ts'

const { trusted } = mongoose

/** States in which no attempt at a delivery is to come. */
const RESTING = ['delivered', 'dead', 'dropped']

/**
 * Fields that are deleted with the texts: places, addresses, and hashes of texts that somebody could guess. The hash of the
 * `Idempotency-Key` stays: a repeat of the create must not ask for a second approval.
 */
const GONE = [
  'digest_salt',
  'audience',
  'attachments',
  'opened',
  'notify',
  'callback_url',
  'callback_secret_version',
  'asked_from',
  'body_sha256',
  'open_sha256',
  'kind_sha256',
  'callback',
] as const satisfies readonly (keyof ApprovalRequest)[]

/** A request whose texts are to go, with the entry that says so. */
export interface Erasure {
  request: ApprovalRequest
  audit: AuditEntry
  at: Date
  /** `whole`: the document is to go as well, by `deleteMarked`. `shown`: cards are to show that; they follow the version. */
  how: 'whole' | 'texts' | 'shown'
}

/** Which finished requests of an account are looked at. */
interface FinishedQuery {
  account_id: string
  /** Requests that expired, or would have, until then. */
  until: Date
  /** Exclusive. */
  after: ListPosition | undefined
  limit: number
  /** Also those that were erased already. */
  erased: boolean
}

/** Erases requests on the driver: each step is one conditional write of one document and can be repeated. */
export function createRequestErasure(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<RequestDocument>('Request')
  const collection = connection.collection<RequestDocument>('requests')
  const requests = connection.collection<{ _id: string }>('requests')
  const attachments = connection.collection<{ _id: string }>('attachments')
  const deliveries = connection.collection<{ _id: string }>('deliveries')
  const cards = connection.collection<{ _id: string }>('cards')
  return {
    /** Returns finished requests, the oldest first. */
    async finished({ account_id, until, after, limit, erased }: FinishedQuery): Promise<ApprovalRequest[]> {
      const ended = { status: trusted({ $ne: 'pending' as const }), expires_at: trusted({ $lte: until }) }
      const place = after === undefined ? {} : beyond('$gt', 'created_at', after.created_at, after.id)
      // A request was made before it expired; the bound lets the index end the search.
      const filter = { account_id, ...ended, ...place, ...(erased ? {} : { erased_at: null }) }
      const query = model.find({ ...filter, created_at: trusted({ $lte: until }) })
      return (await query.sort(OLDEST_FIRST).limit(limit).lean<RequestDocument[]>()).map(requestOf)
    },
    /**
     * Erases the texts of these requests, unless one is pending, was erased already, or has something that no one else has taken
     * from it yet. @returns how many were erased
     */
    async erase(all: readonly Erasure[]): Promise<number> {
      let erased = 0
      for (const erasure of all) {
        const { id, status } = erasure.request
        // Before the request names them no more: what a crash leaves undone is found again by it.
        if (status !== 'pending') await deleteThese(attachments, attachmentIds(id))
        const still: object = {
          _id: id,
          status: { $ne: 'pending' as const },
          ...(erasure.how === 'whole' ? { deleting: { $ne: true } } : { erased_at: null }),
          outbox_token: null,
        }
        const idle = { ...still, 'callback.state': { $ne: 'due' as const } }
        const { matchedCount } = await collection.updateOne(idle, erasingUpdate(erasure))
        erased += matchedCount
      }
      if (erased > 0) wake({ outboxOf: 'requests' })
      return erased
    },
    ...deletions(connection),
    /**
     * Returns those of these requests of which a delivery or card has entries that are not in the trail yet.
     * @param open also those with a delivery whose attempts are not over
     */
    async unrecorded(ids: readonly string[], open: boolean): Promise<ReadonlySet<unknown>> {
      const of = { request_id: { $in: [...ids] } }
      const waiting = { ...of, outbox_token: { $ne: null } }
      const sending = { ...of, $or: [{ outbox_token: { $ne: null } }, { state: { $nin: RESTING } }] }
      const options = { projection: { _id: 0, request_id: 1 } }
      const found = await Promise.all([
        deliveries.find(open ? sending : waiting, options).toArray(),
        cards.find(waiting, options).toArray(),
      ])
      return new Set(found.flat().map((one) => 'request_id' in one && one.request_id))
    },
    /** Deletes marked requests whose entries the trail has. @returns how many */
    deleteMarked: (ids: readonly string[]) =>
      deleteThese(requests, ids, { deleting: true, outbox_token: null }),
    /**
     * Counts what belongs to a request, and what of it is under way.
     * @param behind only cards whose message may still show an older version
     */
    async count(id: string, { cardsOf = id, behind }: { cardsOf?: string; behind?: number } = {}) {
      const of = { request_id: id }
      const shown = behind === undefined ? {} : { $nor: [settledAt(behind)] }
      const [all, resting, posted] = await Promise.all([
        deliveries.countDocuments(of),
        deliveries.countDocuments({ ...of, state: { $in: RESTING } }),
        cards.countDocuments({ request_id: cardsOf, ...shown }),
      ])
      return { deliveries: resting, open_deliveries: all - resting, cards: posted }
    },
  }
}

function deletions(connection: StoreConnection) {
  const of = (name: string) => connection.collection<{ _id: string }>(name)
  return {
    /** Deletes the challenges for a decision on this request: they hold the statements to be signed, until they lapse. */
    async deleteChallenges(id: string): Promise<void> {
      await deleteEach(of('challenges'), { subject: { $gte: `${id}:`, $lt: `${id};` } })
      await deleteEach(of('challenges'), { 'shown.request_id': id })
    },
    /** Deletes the deliveries of these requests that are at rest: their bodies hold actions and comments. */
    deleteDeliveries: (ids: readonly string[]) =>
      deleteOf(of('deliveries'), ids, { state: { $in: RESTING }, ...RECORDED }),
    /** Deletes the cards of these requests. @param shown only those at rest without a message, or whose message shows that version */
    deleteCards: (ids: readonly string[], shown?: number) =>
      deleteOf(of('cards'), ids, { ...(shown === undefined ? {} : settledAt(shown)), ...RECORDED }),
  }
}

/** Whose entries the trail has: they would be lost with the document. */
const RECORDED = { outbox_token: null }

function settledAt(version: number): object {
  const settled = { state: { $in: ['idle', 'unreachable'] } }
  return { ...settled, $or: [{ message: null }, { shown: { $gte: version } }] }
}

async function deleteOf(
  collection: Parameters<typeof deleteThese>[0],
  requestIds: readonly string[],
  more: object,
): Promise<number> {
  if (requestIds.length === 0) return 0
  const filter = { request_id: { $in: [...requestIds] }, ...more }
  const found = await collection.find(filter, { projection: { _id: 1 } }).toArray()
  return deleteThese(
    collection,
    found.map(({ _id }) => _id),
    more,
  )
}

function erasingUpdate({ request, audit, at, how }: Erasure): object {
  const { votes, decision } = request
  const $set = {
    erased_at: at,
    ...(how === 'whole' ? { deleting: true } : {}),
    action: ERASED,
    context_json: NO_CONTEXT.json,
    context_sha256: NO_CONTEXT.sha256,
    requested_by: { key_name: ERASED, account_name: ERASED },
    votes: votes.map(withoutTexts),
    ...(decision === undefined ? {} : { 'decision.comment': null }),
  }
  const $unset = Object.fromEntries(GONE.map((field) => [field, 1]))
  const moved = how === 'shown' ? { $inc: { version: 1 }, $currentDate: { moved_at: true } } : {}
  return withOutbox({ ...moved, $set, $unset }, [audit])
}

/** Leaves the receipt and, of a gesture, the signature: whoever kept the intent can still prove what was decided. */
function withoutTexts(vote: Vote): Vote {
  return { ...withoutWords(vote), intent_json: '' }
}

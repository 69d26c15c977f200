import mongoose, { Schema } from 'mongoose'
import { type CardWake, WAKES } from '../../domain/card-state.ts'
import {
  type Card,
  type CardAttempt,
  type CardReply,
  type ChatPlatform,
  type MessageRef,
  REPLIES_KEPT,
  recipientKey,
} from '../../domain/chat.ts'
import { given } from '../../domain/given.ts'
import {
  type AttemptResult,
  type Choice,
  type Claimed,
  createQueue,
  type Lease,
  makeQueue,
  noneOf,
  OPEN_STATES,
  type QueueToken,
} from '../delivery/queue.ts'
import { updateEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, neededPart, number, part, text } from '../mongo/fields.ts'
import { OLDEST_FIRST } from '../mongo/filters.ts'
import { noWake, type Wake } from '../mongo/outbox.ts'
import { documentOf, recordIn, recordOf } from '../mongo/record.ts'

const { trusted } = mongoose

type CardDocument = Omit<Card, 'id'> & { _id: string; recipient_key: string } & QueueToken
type CardModel = mongoose.Model<CardDocument>
type CardWrites = Parameters<CardModel['bulkWrite']>[0]

const cardSchema = new Schema<CardDocument>(
  {
    _id: text,
    account_id: text,
    request_id: text,
    platform: text,
    recipient: neededPart,
    notice: part,
    /** Unique together with the request's id: one card per request and recipient. */
    recipient_key: text,
    wanted: number,
    shown: number,
    message: part,
    perhaps_posted: Boolean,
    posted_at: Date,
    stale: Boolean,
    replies: neededPart,
    news: number,
    attempts: neededPart,
    created_at: date,
  },
  STRICT_SCHEMA,
)
cardSchema.index({ request_id: 1, recipient_key: 1 }, { unique: true })
cardSchema.index(
  { recipient_key: 1 },
  { partialFilterExpression: { state: 'unreachable' }, name: 'unreachable' },
)
cardSchema.index(
  { account_id: 1, recipient_key: 1 },
  { partialFilterExpression: { state: 'unreachable' }, name: 'unreachable_of_account' },
)
makeQueue(cardSchema, 'open_by_time')
// Without it, every claim would read all edits that are due to find that no new card is.
cardSchema.index(
  { shown: 1, next_at: 1 },
  { partialFilterExpression: { state: { $in: OPEN_STATES }, shown: 0 }, name: 'unposted_by_time' },
)

const RESTING = trusted({ $in: ['idle', 'unreachable'] as const })
const PRESENT = trusted({ $exists: true })
const BEHIND = [{ $expr: trusted({ $lt: ['$shown', '$wanted'] }) }, { stale: true }]
const UNEDITED = { state: 'unreachable', message: PRESENT, $or: BEHIND }

/** The cards at rest that a wake makes due. */
const RESTS: Record<Exclude<(typeof WAKES)[CardWake]['rests'], 'none'>, object> = {
  all: { state: RESTING },
  to_do: { state: RESTING, $or: [...BEHIND, { 'replies.state': 'due' }] },
  unreached: { state: 'unreachable', $or: [...BEHIND, { message: PRESENT }] },
  unedited: UNEDITED,
  unedited_few: { ...UNEDITED, tries: trusted({ $lt: 4 }) },
}

/** Writes the table of wakes as updates of the cards that are meant. */
function wakeWrites(why: CardWake, which: object, at: Date) {
  const { rests, failed, anew } = WAKES[why]
  const update = { $set: { state: 'due', next_at: at, ...(anew ? { tries: 0 } : {}) } }
  const late = { state: 'due', tries: trusted({ $gt: 0 }), next_at: trusted({ $gt: at }) }
  return [...(rests === 'none' ? [] : [RESTS[rests]]), ...(failed ? [late] : [])].map((state) => ({
    filter: { ...which, ...state },
    update,
  }))
}

/** News for the cards of a request. */
export interface CardNews {
  request_id: string
  /** The version the cards should show; absent when nothing changed that a card shows. */
  version?: number
  /** Lines to post once under every card; a card does not queue a line it already knows. */
  replies: Omit<CardReply, 'state'>[]
  /** People under whose cards no reminder is posted. */
  unreminded?: readonly string[]
  at: Date
}

/** The outcome of an attempt at a card, as the store writes it. */
export interface CardResult extends AttemptResult<Exclude<Card['state'], 'leased'>, CardAttempt> {
  /** When the card is due instead, if it has got news since the claim. */
  again_at: Date
  /** `Card.news` at the time of the claim. */
  news: number
  /** The version that the message shows now. */
  shown: number
  /** Whether the message must be edited once more, whatever it shows; absent: unchanged. */
  stale?: boolean
  message?: MessageRef
  posted_at?: Date
  /** The message no longer exists on the platform. */
  gone?: true
  /** Whether a post whose answer was lost may exist; absent: unchanged. */
  perhaps_posted?: boolean
  /** Ids of replies that were posted (`said`), or need not be posted any more (`dropped`). */
  said: string[]
  dropped: string[]
}

export interface CardClaim extends Lease {
  platforms: readonly ChatPlatform[]
  /** `recipientKey`s whose cards must wait: another of their cards is being attempted, or the platform is rate limiting. */
  busyRecipients: readonly string[]
  /** `recipientKey`s of which only the posted cards must wait: the platform is rate limiting edits. */
  busyEdits: readonly string[]
  /** Accounts that already have their maximum of attempts under way. */
  busyAccounts: readonly string[]
}

/** A card that this process has claimed. */
export type ClaimedCard = Claimed<Card>

/** Cards on mongoose: a queue whose documents become due again when they get news. */
export function createCardStore(
  connection: StoreConnection,
  wake: Wake = noWake,
  wakeCards: () => void = () => undefined,
) {
  const model = connection.model<CardDocument>('Card', cardSchema, 'cards')
  const queue = createQueue(connection, 'Card', recordOf<CardDocument>, wake)
  return {
    ...queue,
    ...reads(model),
    ...news(model, connection.collection('cards'), wakeCards),
    /** Inserts the cards, except those whose {request, platform, recipient} exists already. */
    insertNew: (cards: readonly Card[]) => queue.insertNew(cards.map(toDocument)),
    /**
     * Leases the chosen among the cards longest due until `leaseEnds`, as deliveries do. Asking comes before tidying up: edits
     * of many closed cards would take longer than a new request may live.
     */
    claim({ platforms, busyRecipients, busyEdits, busyAccounts, ...lease }: CardClaim & Choice<Card>) {
      const free = { ...onPlatforms(platforms), ...noneOf('account_id', busyAccounts) }
      const asking = { ...free, ...noneOf('recipient_key', busyRecipients), shown: 0 }
      const still = noneOf('recipient_key', [...busyRecipients, ...busyEdits])
      return queue.claim(lease, asking, { ...free, ...still, shown: trusted({ $gt: 0 }) })
    },
    /**
     * Writes the result of the claimed attempt; a card with news since the claim is due again.
     * @returns the state written; undefined when the claim is no longer the newest
     */
    async finish(id: string, fence: number, result: CardResult): Promise<Card['state'] | undefined> {
      const besides = changesOf(result)
      const certain = result.stale === false ? { $unset: { ...besides.$unset, stale: 1 } } : {}
      const told = { ...besides, ...certain, only: { news: result.news } }
      const again = { ...result, state: 'due' as const, next_at: result.again_at }
      if (await queue.finish(id, fence, result, told)) return result.state
      return (await queue.finish(id, fence, again, besides)) ? again.state : undefined
    },
    /** Extends the lease. @returns false when the claim is no longer the newest */
    async extend(id: string, fence: number, leaseEnds: Date): Promise<boolean> {
      const mine = { _id: id, fence, state: 'leased' } as const
      return (await model.updateOne(mine, { $set: { next_at: leaseEnds } })).matchedCount === 1
    },
    nextDue: (platforms: readonly ChatPlatform[]) => queue.nextDue(onPlatforms(platforms)),
  }
}

function onPlatforms(platforms: readonly ChatPlatform[]) {
  return { platform: trusted({ $in: [...platforms] }) }
}

function reads(model: CardModel) {
  return {
    async find(id: string): Promise<Card | undefined> {
      return recordIn(await model.findById(id).lean<CardDocument>())
    },
    /** Returns the cards at rest whose message is behind: those that were set aside after a restore. */
    async restingBehind(): Promise<Pick<Card, 'id' | 'request_id'>[]> {
      const query = model.find({ state: 'idle', stale: true, message: PRESENT }, { request_id: 1 })
      return (await query.lean<CardDocument[]>()).map(({ _id: id, request_id }) => ({ id, request_id }))
    },
    /** Oldest first. */
    async ofRequest(requestId: string): Promise<Card[]> {
      const query = model.find({ request_id: String(requestId) }).sort(OLDEST_FIRST)
      return (await query.lean<CardDocument[]>()).map(recordOf)
    },
  }
}

function news(model: CardModel, collection: mongoose.Collection<{ _id: string }>, wakeCards: () => void) {
  const wake = async (why: CardWake, which: object, at: Date): Promise<void> => {
    let woken = 0
    for (const { filter, update } of wakeWrites(why, which, at))
      woken += await updateEach(collection, filter, update)
    if (woken > 0) wakeCards()
  }
  const doubt = async (which: object, at: Date): Promise<void> => {
    await updateEach(collection, which, { $set: { stale: true }, $inc: { news: 1 } })
    await wake('doubt', which, at)
  }
  return {
    /**
     * Raises (never lowers) `wanted` of every card of these requests, adds replies not yet known, and makes every card with
     * work due. Idempotent.
     */
    async follow(all: readonly CardNews[]): Promise<void> {
      // In order: a card's news must be written before the update that decides whether to make it due.
      const writes = all.flatMap(followWrites)
      if (writes.length > 0) await model.bulkWrite(writes, { ordered: true })
    },
    /** Makes a card due now, because its message may show an older version than `shown` says. */
    doubt: (id: string, at: Date) => doubt({ _id: String(id) }, at),
    /** Posts or edits the cards of these requests for that `recipientKey` once more, because their recipient changed. */
    renew: (requestIds: readonly string[], recipient: string, at: Date) =>
      doubt({ request_id: trusted({ $in: [...requestIds] }), recipient_key: String(recipient) }, at),
    /** Edits posted messages once more, about these requests or to this person: they name somebody who has no name any more. */
    redraw(of: { requestIds: readonly string[] } | { userId: string }, at: Date): Promise<void> {
      const which =
        'userId' in of
          ? { 'recipient.user_id': of.userId }
          : { request_id: trusted({ $in: [...of.requestIds] }) }
      return doubt({ ...which, message: PRESENT }, at)
    },
    /** Makes unreachable cards with work left due, and those that wait after a failure: their recipient may be reachable now. */
    retryUnreachable({ requestIds, ...which }: UnreachableCards, at: Date): Promise<void> {
      const cards = 'recipient' in which ? { recipient_key: which.recipient } : { platform: which.platform }
      const of = requestIds === undefined ? {} : { request_id: trusted({ $in: [...requestIds] }) }
      return wake('reachable', { ...cards, ...of }, at)
    },
    /** Makes edits due that were refused in a place which takes posts now. */
    retryEdits: (recipient: string, at: Date) => wake('post', { recipient_key: recipient }, at),
    /** Makes every card due that waits after a failure: this process does not know whether the platform is still away. */
    retryFailed: (at: Date) => wake('started', {}, at),
    /** Makes the account's failed cards on the platform due at that time, and those whose message could not be edited. */
    hurry(accountId: string, platform: ChatPlatform, at: Date): Promise<void> {
      // The range of keys stands for the platform, which the index of an account's unreachable cards does not have.
      const recipient_key = trusted({ $gt: `${platform}:`, $lt: `${platform};` })
      return wake('answers', { account_id: accountId, recipient_key }, at)
    },
  }
}

/** Cards of these requests on a platform, or those of one `recipientKey`. */
type UnreachableCards =
  | { requestIds: readonly string[]; platform: ChatPlatform }
  | { requestIds?: undefined; recipient: string }

/** First the news, then the writes that make cards due: a card they do not match is leased or due, and will see its news. */
function followWrites({ request_id, version, replies, unreminded = [], at }: CardNews): CardWrites {
  const told = { $inc: { news: 1 } }
  const raise =
    version === undefined
      ? []
      : [
          {
            filter: { request_id, wanted: trusted({ $lt: version }) },
            update: { $set: { wanted: version }, ...told },
          },
        ]
  const queue = replies.map((reply) => {
    const added = { $each: [{ ...reply, state: 'due' }], $slice: -REPLIES_KEPT }
    const silent = reply.kind === 'reminder' && unreminded.length > 0
    // A full list has dropped its oldest: one as old as those may have been among them.
    const room = [
      { [`replies.${REPLIES_KEPT - 1}`]: trusted({ $exists: false }) },
      { 'replies.0.at': trusted({ $lte: reply.at }) },
    ]
    const filter = {
      request_id,
      'replies.id': trusted({ $ne: reply.id }),
      $or: room,
      ...(silent ? { 'recipient.user_id': trusted({ $nin: [...unreminded] }) } : {}),
    }
    return { filter, update: { $push: { replies: added }, ...told } }
  })
  const woken = wakeWrites('news', { request_id }, at)
  return [...raise, ...queue, ...woken].map((updateMany) => ({ updateMany })) as CardWrites
}

/** What an attempt changes on its card besides what it changes on every record of a queue. */
function changesOf({ shown, message, posted_at, perhaps_posted, stale, gone, said, dropped }: CardResult) {
  return {
    $set: {
      shown,
      ...given({ message, posted_at }),
      ...(perhaps_posted ? { perhaps_posted } : {}),
      ...(stale ? { stale } : {}),
      ...(said.length === 0 ? {} : { 'replies.$[said].state': 'said' }),
      ...(dropped.length === 0 ? {} : { 'replies.$[dropped].state': 'dropped' }),
    },
    $unset: {
      ...(perhaps_posted === false ? { perhaps_posted: 1 } : {}),
      ...(gone ? { message: 1, posted_at: 1 } : {}),
    },
    // An identifier that no change names would be refused.
    arrayFilters: [
      ...(said.length === 0 ? [] : [{ 'said.id': { $in: said } }]),
      ...(dropped.length === 0 ? [] : [{ 'dropped.id': { $in: dropped } }]),
    ],
  }
}

function toDocument(card: Card): CardDocument {
  return { ...documentOf(card), recipient_key: recipientKey(card) }
}

import mongoose, { Schema } from 'mongoose'
import { CARD_ATTEMPTS_KEPT, type Card, laneOf, REPLIES_KEPT } from '../domain/chat.ts'
import type { CardNews, CardResult, CardStore } from '../flow/chat-ports.ts'
import { auditFields } from './audit-fields.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { noticeFields } from './notice-fields.ts'
import { carryTraces, type Nudge, noNudge, type Relayed, tokenOf, traced } from './trace.ts'

const { trusted } = mongoose

type CardDocument = Omit<Card, 'id'> & { _id: string; lane: string } & Relayed
type CardModel = mongoose.Model<CardDocument>
type CardWrites = Parameters<CardModel['bulkWrite']>[0]

const text = { type: String, required: true } as const
const date = { type: Date, required: true } as const
const number = { type: Number, required: true } as const
const part = { _id: false, strict: 'throw' } as const

const recipientFields = new Schema(
  { kind: text, user_id: String, tenant: String, user: String, channel: String },
  part,
)
const messageFields = new Schema(
  { tenant: text, conversation: text, message: text, user: String, by_email: Boolean },
  part,
)
const replyFields = new Schema({ id: text, kind: text, at: date, automatic: Boolean, state: text }, part)
const attemptFields = new Schema({ at: date, what: text, outcome: text, duration_ms: number }, part)

const cardSchema = new Schema<CardDocument>(
  {
    _id: text,
    account_id: text,
    request_id: text,
    platform: text,
    recipient: { type: recipientFields, required: true },
    notice: noticeFields,
    /** With the request's id the name under which a card exists once. */
    lane: text,
    state: text,
    wanted: number,
    shown: number,
    message: messageFields,
    posted_at: Date,
    stale: Boolean,
    replies: { type: [replyFields], required: true },
    news: number,
    next_at: date,
    tries: number,
    claim: number,
    attempts: { type: [attemptFields], required: true },
    created_at: date,
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
cardSchema.index({ request_id: 1, lane: 1 }, { unique: true })
cardSchema.index(
  { next_at: 1 },
  { partialFilterExpression: { state: { $in: ['due', 'leased'] } }, name: 'open_by_time' },
)
carryTraces(cardSchema)

const OPEN = trusted({ $in: ['due', 'leased'] as const })
const RESTING = trusted({ $in: ['idle', 'unreachable'] as const })
const BEHIND = trusted({ $lt: ['$shown', '$wanted'] })

/** Cards on mongoose: claims as in deliveries, a lease with a number (T82). Every write is one conditional write. */
export function createCardStore(connection: StoreConnection, nudge: Nudge = noNudge): CardStore {
  const model = connection.model<CardDocument>('Card', cardSchema, 'cards')
  return {
    insertNew: (cards) => insertNew(model, cards),
    ...reads(model),
    async follow(news) {
      // One after the other, in this order: what a card is told counts before anybody looks whether it has to wake.
      const writes = news.flatMap(followWrites)
      if (writes.length > 0) await model.bulkWrite(writes, { ordered: true })
    },
    claim: (query) => claim(model, query),
    async finish(id, holder, result) {
      const state = await finish(model, id, holder, result)
      if (state !== undefined && result.audit.length > 0) nudge()
      return state
    },
    async doubt(id, at) {
      await model.updateOne({ _id: id }, { $set: { stale: true }, $inc: { news: 1 } })
      await model.updateOne({ _id: id, state: RESTING }, { $set: { state: 'due', next_at: at } })
      nudge('cards')
    },
    async renew(requestIds, lane, at) {
      const cards = { request_id: trusted({ $in: [...requestIds] }), lane: String(lane) }
      await model.updateMany(cards, { $set: { stale: true }, $inc: { news: 1 } })
      await model.updateMany({ ...cards, state: RESTING }, { $set: { state: 'due', next_at: at, tries: 0 } })
      nudge('cards')
    },
  }
}

function reads(model: CardModel): Pick<CardStore, 'find' | 'ofRequest' | 'nextDue'> {
  return {
    find: async (id) => toCard(await model.findById(id).lean<CardDocument>()),
    async ofRequest(requestId) {
      const query = model.find({ request_id: String(requestId) }).sort({ created_at: 1, _id: 1 })
      return (await query.lean<CardDocument[]>()).map(fromDocument)
    },
    async nextDue(platforms) {
      const open = { state: OPEN, platform: trusted({ $in: [...platforms] }) }
      const query = model.findOne(open, { next_at: 1 }).sort({ next_at: 1 })
      return (await query.lean<Pick<CardDocument, 'next_at'>>())?.next_at
    },
  }
}

async function claim(model: CardModel, query: Parameters<CardStore['claim']>[0]) {
  const { now, leaseEnds, platforms, busyLanes } = query
  const due = {
    state: OPEN,
    next_at: trusted({ $lte: now }),
    platform: trusted({ $in: [...platforms] }),
    ...(busyLanes.length === 0 ? {} : { lane: trusted({ $nin: [...busyLanes] }) }),
  }
  const lease = { $set: { state: 'leased', next_at: leaseEnds }, $inc: { claim: 1 } } as const
  // The state before tells whether the attempt before this one ever reported back.
  const options = { sort: { next_at: 1 }, returnDocument: 'before' } as const
  const before = toCard(await model.findOneAndUpdate(due, lease, options).lean<CardDocument>())
  if (before === undefined) return undefined
  const card: Card = { ...before, state: 'leased', next_at: leaseEnds, claim: before.claim + 1 }
  return { card, interrupted: before.state === 'leased' }
}

/** First what wakes nobody, then waking: a card that is told between the two is under way or waiting, and so looks again. */
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
    const filter = {
      request_id,
      'replies.id': trusted({ $ne: reply.id }),
      ...(silent ? { 'recipient.user_id': trusted({ $nin: [...unreminded] }) } : {}),
    }
    return { filter, update: { $push: { replies: added }, ...told } }
  })
  const hasToDo = { $or: [{ $expr: BEHIND }, { 'replies.state': 'due' }] }
  const fresh = { $set: { state: 'due', next_at: at, tries: 0 } }
  const wake = { filter: { request_id, state: RESTING, ...hasToDo }, update: fresh }
  // What failed is tried again with the change; who was asked for patience (no failure) keeps it.
  const failed = { request_id, state: 'due', tries: trusted({ $gt: 0 }), next_at: trusted({ $gt: at }) }
  const hurry = { filter: failed, update: { $set: { next_at: at, tries: 0 } } }
  return [...raise, ...queue, wake, hurry].map((updateMany) => ({ updateMany })) as CardWrites
}

async function finish(
  model: CardModel,
  id: string,
  holder: number,
  result: CardResult,
): Promise<Card['state'] | undefined> {
  const mine = { _id: id, claim: holder, state: 'leased' } as const
  const filters = [
    ...(result.said.length === 0 ? [] : [{ 'said.id': { $in: result.said } }]),
    ...(result.dropped.length === 0 ? [] : [{ 'dropped.id': { $in: result.dropped } }]),
  ]
  const options = filters.length === 0 ? {} : { arrayFilters: filters }
  const settled = finished(result, result.state, result.next_at)
  const rest = result.certain ? { ...settled, $unset: { stale: 1 } } : settled
  const rests = await model.updateOne({ ...mine, news: result.news }, rest, options)
  if (rests.matchedCount === 1) return result.state
  const again = await model.updateOne(mine, finished(result, 'due', result.again_at), options)
  return again.matchedCount === 1 ? 'due' : undefined
}

function finished(result: CardResult, state: Card['state'], next_at: Date) {
  const set = {
    state,
    next_at,
    tries: result.tries,
    shown: result.shown,
    ...(result.message === undefined ? {} : { message: result.message }),
    ...(result.posted_at === undefined ? {} : { posted_at: result.posted_at }),
    ...(result.said.length === 0 ? {} : { 'replies.$[said].state': 'said' }),
    ...(result.dropped.length === 0 ? {} : { 'replies.$[dropped].state': 'dropped' }),
  }
  const attempts = { $each: result.attempts, $slice: -CARD_ATTEMPTS_KEPT }
  return traced({ $set: set, $push: { attempts } }, result.audit)
}

async function insertNew(model: CardModel, cards: readonly Card[]): Promise<void> {
  if (cards.length === 0) return
  try {
    await model.insertMany(cards.map(toDocument), { ordered: false })
  } catch (error) {
    // Another process carried the same trace, or an earlier attempt of ours did: the rest was inserted all the same.
    if (!isDuplicateKey(error)) throw error
  }
}

function toDocument({ id, ...rest }: Card): CardDocument {
  return { _id: id, ...rest, lane: laneOf(rest), ...tokenOf(rest) }
}

function fromDocument({ _id, lane: _lane, relay: _relay, ...rest }: CardDocument): Card {
  return { id: _id, ...rest }
}

function toCard(document: CardDocument | null): Card | undefined {
  return document === null ? undefined : fromDocument(document)
}

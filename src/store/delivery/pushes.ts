import mongoose, { Schema } from 'mongoose'
import type { Push } from '../../domain/push.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, neededPart, text } from '../mongo/fields.ts'
import { noWake, type Wake } from '../mongo/outbox.ts'
import { documentOf, recordOf } from '../mongo/record.ts'
import { type Busy, noneBusy } from './deliveries.ts'
import { type Choice, createQueue, indexResting, type Lease, makeQueue, type QueueToken } from './queue.ts'

const { trusted } = mongoose

type PushDocument = Omit<Push, 'id'> & { _id: string } & QueueToken

const pushSchema = new Schema<PushDocument>(
  {
    _id: text,
    account_id: text,
    user_id: text,
    device_id: text,
    event_id: text,
    about: neededPart,
    host: text,
    expires_at: date,
    attempts: neededPart,
    created_at: date,
  },
  STRICT_SCHEMA,
)
const RESTING = ['sent', 'dropped', 'dead'] as const

pushSchema.index({ event_id: 1, device_id: 1 }, { unique: true })
makeQueue(pushSchema, 'open_by_time_and_receiver', ['host', 'account_id'])
indexResting(pushSchema, RESTING)
pushSchema.index(
  { 'about.request_id': 1 },
  { partialFilterExpression: { 'about.request_id': { $exists: true } }, name: 'by_request' },
)

/** Pushes on mongoose: a queue. */
export function createPushStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<PushDocument>('Push', pushSchema, 'pushes')
  const queue = createQueue(connection, 'Push', recordOf<PushDocument>, wake)
  return {
    ...queue,
    /** Inserts the pushes, except those whose {event, device} exists already. */
    insertNew: (pushes: readonly Push[]) => queue.insertNew(pushes.map(documentOf)),
    /** Returns all pushes about these requests and batches, oldest first. Those at rest are kept for a week. */
    async ofSubjects(ids: readonly string[]): Promise<Push[]> {
      const about = { 'about.request_id': trusted({ $in: [...ids] }) }
      const found = await model.find(about).lean<PushDocument[]>()
      return found.map(recordOf).sort((a, b) => a.created_at.getTime() - b.created_at.getTime())
    },
    /** Returns all pushes about this event. */
    async ofEvent(eventId: string): Promise<Push[]> {
      return (await model.find({ event_id: eventId }).lean<PushDocument[]>()).map(recordOf)
    },
    /** Leases the chosen among the pushes longest due until `leaseEnds`, as deliveries do. */
    claim: (query: Lease & Busy & Choice<Push>) => queue.claim(query, noneBusy(query)),
    deleteRested: (before: Date) => queue.deleteRested(RESTING, before),
  }
}

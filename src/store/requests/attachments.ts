import mongoose, { Schema } from 'mongoose'
import { MOST_ATTACHMENTS } from '../../domain/attachment.ts'
import { deleteThese, updateEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { isDuplicateKey } from '../mongo/failures.ts'
import { text } from '../mongo/fields.ts'

const { trusted } = mongoose

interface AttachmentDocument {
  /** `req_…:0` */
  _id: string
  content: Buffer
  /** Until the request is known to exist: when it was written. */
  unclaimed_at?: Date
}

const schema = new Schema<AttachmentDocument>(
  { _id: text, content: Buffer, unclaimed_at: Date },
  STRICT_SCHEMA,
)
schema.index({ unclaimed_at: 1 }, { sparse: true })

/** Most attachments that one run of the sweep looks at. */
const SWEPT = 1_000

/** Bytes of attachments, by request and place: apart from the request, which every list reads. */
export function createAttachmentStore(connection: StoreConnection) {
  const model = connection.model<AttachmentDocument>('Attachment', schema, 'attachments')
  const collection = connection.collection<{ _id: string }>('attachments')
  /** Beside the monthly counters, with which old ones are removed. */
  const quotas = connection.collection<{ _id: string; used: number; month: string }>('quotas')
  const requests = connection.collection<{ _id: string; status: string; opened?: string[] }>('requests')
  const claim = async (ids: string[]): Promise<void> => {
    const unclaimed = { _id: { $in: ids }, unclaimed_at: { $ne: null } }
    await updateEach(collection, unclaimed, { $unset: { unclaimed_at: '' } })
  }
  return {
    /** Writes the attachments of a request before the request itself: alone they are in nobody's way, and the sweep finds them. */
    async insert(requestId: string, contents: readonly Buffer[], at: Date): Promise<void> {
      if (contents.length === 0) return
      await model.insertMany(
        contents.map((content, index) => ({ _id: idOf(requestId, index), content, unclaimed_at: at })),
      )
    },
    /** Adds to what a key sent on a day, unless that is too much: one conditional write. @returns false if it is */
    async takeBytes(keyId: string, day: string, bytes: number, limit: number): Promise<boolean> {
      const counter = { _id: `${keyId}:${day}`, used: { $not: { $gt: limit - bytes } } }
      const more = { $inc: { used: bytes }, $setOnInsert: { month: day.slice(0, 7) } }
      try {
        await quotas.updateOne(counter, more, { upsert: true })
        return true
      } catch (error) {
        // The counter is there, and full; or another call has just made it, and this one finds it.
        if (!isDuplicateKey(error)) throw error
        return (await quotas.updateOne(counter, more)).matchedCount === 1
      }
    },
    /** Notes that the request of these attachments exists, so that the sweep has nothing to look at. */
    claim: (requestId: string) => claim(attachmentIds(requestId)),
    async read(requestId: string, index: number): Promise<Buffer | undefined> {
      return (await model.findById(idOf(requestId, index), { content: 1 }))?.content
    },
    /** Notes at the request that a person fetched an attachment while it was pending (`openedMark`). */
    async noteOpened(requestId: string, mark: string): Promise<void> {
      await requests.updateOne({ _id: requestId, status: 'pending' }, { $addToSet: { opened: mark } })
    },
    /** Deletes those whose request was not made until then, and claims the others: a process died between the two writes. */
    async sweep(until: Date): Promise<void> {
      const old = { unclaimed_at: trusted({ $lte: until }) }
      const found = await model.find(old, { _id: 1 }).limit(SWEPT).lean<{ _id: string }[]>()
      const requestIds = [...new Set(found.map(({ _id }) => requestIdOf(_id)))]
      const query = requests.find({ _id: { $in: requestIds } }, { projection: { _id: 1 } })
      const made = new Set((await query.toArray()).map(({ _id }) => _id))
      const isMade = ({ _id }: { _id: string }): boolean => made.has(requestIdOf(_id))
      await claim(found.filter(isMade).map(({ _id }) => _id))
      const orphans = found.filter((one) => !isMade(one)).map(({ _id }) => _id)
      await deleteThese(collection, orphans)
    },
  }
}

function requestIdOf(id: string): string {
  return id.split(':', 1)[0] ?? ''
}

function idOf(requestId: string, index: number): string {
  return `${requestId}:${index}`
}

/** Lists the ids that attachments of this request can have. */
export function attachmentIds(requestId: string): string[] {
  return Array.from({ length: MOST_ATTACHMENTS }, (_, index) => idOf(requestId, index))
}

import { Schema } from 'mongoose'
import type { Clock } from '../../ports/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { date, text } from '../mongo/fields.ts'

interface SeenDocument {
  _id: string
  expires_at: Date
}

const seenSchema = new Schema<SeenDocument>({ _id: text, expires_at: date }, STRICT_SCHEMA)
seenSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Twice the time by which a platform's signature may be older or newer than our clock. */
const KEPT_MS = 10 * 60_000

/**
 * Remembers the ids of received messages for ten minutes, on mongoose: one insert each, so that exactly one of several
 * processes is the first (T36).
 */
export function createSeenStore(connection: StoreConnection, clock: Clock) {
  const model = connection.model<SeenDocument>('ChatSeen', seenSchema, 'chat_seen')
  return {
    /** @returns true the first time only. */
    first: (id: string) =>
      unlessTaken(() => model.create({ _id: id, expires_at: new Date(clock.now().getTime() + KEPT_MS) })),
    /** Checks whether the id was seen before, without remembering it. */
    async known(id: string): Promise<boolean> {
      return (await model.exists({ _id: id })) !== null
    },
  }
}

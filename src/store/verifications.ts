import mongoose, { Schema } from 'mongoose'
import type { Log, VerificationLog, VerificationRecord } from '../flow/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

type VerificationDocument = VerificationRecord & { _id: mongoose.Types.ObjectId }

const verificationSchema = new Schema<VerificationDocument>(
  {
    _id: { type: Schema.Types.ObjectId, required: true },
    request_id: { type: String, required: true },
    address: { type: String, required: true },
    at: { type: Date, required: true },
    result: { type: String, required: true },
  },
  STRICT_SCHEMA,
)
verificationSchema.index({ request_id: 1, at: -1 })

/** A batch is written when this many wait, or after the pause: a flood of public verifications costs few writes (T68). */
const BATCH = 500
const PAUSE_MS = 500

/**
 * The verification log on mongoose. A failed batch stays in memory and is tried again; since every record has its `_id` from
 * the start, what the failed write did write is not written a second time.
 */
export function createVerificationLog(connection: StoreConnection, log: Log): VerificationLog {
  const model = connection.model<VerificationDocument>('Verification', verificationSchema, 'verifications')
  let waiting: VerificationDocument[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const writeAll = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      await model.bulkWrite(batch.map(insertOnce), { ordered: false, throwOnValidationError: true })
      waiting = waiting.slice(batch.length)
    }
  }
  const flush = (): Promise<void> => {
    writing = writing.catch(() => undefined).then(writeAll)
    return writing
  }
  const flushQuietly = (): void => {
    flush().catch((error: unknown) => {
      log.error({ error, waiting: waiting.length }, 'verification log not written, trying again')
      timer ??= setTimeout(flushQuietly, PAUSE_MS * 4).unref()
    })
  }
  return {
    record(entry) {
      waiting.push({ _id: new mongoose.Types.ObjectId(), ...entry })
      if (waiting.length >= BATCH) flushQuietly()
      else timer ??= setTimeout(flushQuietly, PAUSE_MS).unref()
    },
    flush,
  }
}

function insertOnce({ _id, ...record }: VerificationDocument) {
  return { updateOne: { filter: { _id }, update: { $setOnInsert: record }, upsert: true } }
}

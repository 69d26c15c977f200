import { Schema } from 'mongoose'
import type { Log, VerificationLog, VerificationRecord } from '../flow/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

const verificationSchema = new Schema<VerificationRecord>(
  {
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

/** The verification log on mongoose. A failed batch stays in memory and is tried again. */
export function createVerificationLog(connection: StoreConnection, log: Log): VerificationLog {
  const model = connection.model<VerificationRecord>('Verification', verificationSchema, 'verifications')
  let waiting: VerificationRecord[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const writeAll = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      await model.insertMany(batch)
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
      waiting.push(entry)
      if (waiting.length >= BATCH) flushQuietly()
      else timer ??= setTimeout(flushQuietly, PAUSE_MS).unref()
    },
    flush,
  }
}

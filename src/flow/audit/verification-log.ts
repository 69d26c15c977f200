import type { AuditEntry } from '../../domain/audit.ts'
import type { Log } from '../../ports/ports.ts'
import type { AuditInbox } from '../../store/audit/audit-inbox.ts'
import type { VerificationLog } from '../deps.ts'

/** A batch is written when this many entries wait, or after the pause: a flood of public verifications costs few writes (T68). */
const BATCH = 256
const PAUSE_MS = 500
const RETRY_MS = 2_000

/** Pause before refused attempts are recorded, one entry per address or chat identity: a flood must not flood the trail. */
const REFUSED_PAUSE_MS = 10_000

/**
 * Gathers the audit entries of public verifications (interface, "Every verification attempt is logged") into batches, each
 * written to the audit log at once. Nothing is dropped: a batch that could not be written is kept unchanged and retried before
 * any other. The log recognises a batch by its first entry, so entries added to it in between would be lost.
 */
export function createVerificationLog(audit: AuditInbox, log: Log): VerificationLog {
  let batch: AuditEntry[] = []
  const waiting: AuditEntry[] = []
  const refused = new Map<string, AuditEntry>()
  let timer: NodeJS.Timeout | undefined
  let refusedTimer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const writeAll = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    // Entries that arrive meanwhile get their own pause: else, in a flood, each write would hold only the few since the last.
    for (let left = batch.length + waiting.length; left > 0; ) {
      if (batch.length === 0) batch = waiting.splice(0, Math.min(left, BATCH))
      await audit.append(...batch)
      left -= batch.length
      batch = []
    }
  }
  const tellRefused = (): void => {
    clearTimeout(refusedTimer)
    refusedTimer = undefined
    waiting.push(...refused.values())
    refused.clear()
  }
  const flush = (): Promise<void> => {
    writing = writing.catch(() => undefined).then(writeAll)
    return writing
  }
  const flushQuietly = (): void => {
    flush().catch((error: unknown) => {
      const left = batch.length + waiting.length
      log.error({ error, waiting: left }, 'writing the verification log failed; it is tried again')
      flushAfter(RETRY_MS)
    })
  }
  const flushAfter = (ms: number): void => {
    timer ??= setTimeout(flushQuietly, ms).unref()
  }
  return {
    record(entry: AuditEntry): void {
      waiting.push(entry)
      if (waiting.length % BATCH === 0) flushQuietly()
      else flushAfter(PAUSE_MS)
    },
    recordRefused(entry: AuditEntry): void {
      const { actor } = entry
      const asker = 'id' in actor ? actor.id : 'address' in actor ? (actor.address ?? '') : ''
      const { detail } = refused.get(asker) ?? entry
      const attempts = 1 + Number(refused.get(asker)?.detail?.attempts ?? 0)
      const counted = { ...detail, attempts, last_at: entry.at.toISOString() }
      refused.set(asker, { ...(refused.get(asker) ?? entry), detail: counted })
      const tell = (): void => {
        tellRefused()
        flushQuietly()
      }
      if (refused.size >= BATCH) tell()
      else refusedTimer ??= setTimeout(tell, REFUSED_PAUSE_MS).unref()
    },
    flush(): Promise<void> {
      tellRefused()
      return flush()
    },
  }
}

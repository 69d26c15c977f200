import type { AuditRecord } from '../../domain/audit.ts'
import { coalesce } from '../../ports/coalesce.ts'
import type { OutboxEntry, OutboxSource } from '../../ports/ports.ts'
import { createAppender } from '../audit/append-to-trail.ts'
import type { FlowDeps } from '../deps.ts'

/** Holds outbox entries after their hand-over until they are in the trail and removed from their documents. */
export interface Recorder {
  add(source: OutboxSource, entries: readonly OutboxEntry[]): void
  /** True when so many entries wait that no more should be added. */
  isFull(): boolean
  /** Records the added entries after a moment, so that writes in quick succession share commands. @throws as `flush` */
  soon(): Promise<void>
  /** Records all entries added so far. @throws what the store throws */
  flush(): Promise<void>
}

/** The most entries that wait. */
const MOST = 100

/** Milliseconds: long enough to deliver a callback meanwhile, short enough that a reader of the trail notices no delay. */
const MOMENT_MS = 40

/**
 * Makes one insert into the trail and one write to each collection, however many entries were added.
 * @param onAppended called with the new records of the trail
 * @param left called with each collection that has entries which could not be recorded, so that the relay looks there again
 */
export function createRecorder(
  deps: Pick<FlowDeps, 'trail' | 'random'>,
  left: (source: OutboxSource) => void,
  onAppended: (records: readonly AuditRecord[]) => void,
): Recorder {
  const append = createAppender(deps)
  const waiting = new Map<OutboxSource, OutboxEntry[]>()
  const flush = coalesce(async () => {
    const taken = [...waiting]
    waiting.clear()
    const told = taken.flatMap(([, entries]) => entries.flatMap(({ audit }) => audit))
    const appended = append(told.sort((a, b) => a.at.getTime() - b.at.getTime()))
    const settled = await Promise.allSettled(
      taken.map(async ([source, entries]) => {
        await appended
          .then(() => source.settle(entries))
          .catch((error: unknown) => {
            left(source)
            throw error
          })
      }),
    )
    const records = await appended
    if (told.length > 0) onAppended(records)
    const failed = settled.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  })
  let moment: Promise<void> | undefined
  return {
    add(source, entries) {
      if (entries.length > 0) waiting.set(source, [...(waiting.get(source) ?? []), ...entries])
    },
    isFull: () => [...waiting.values()].flat().length >= MOST,
    soon() {
      moment ??= new Promise<void>((resolve) => setTimeout(resolve, MOMENT_MS).unref()).then(() => {
        moment = undefined
        return flush()
      })
      return moment
    },
    flush,
  }
}

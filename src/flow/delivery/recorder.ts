import { createAppender } from '../audit/append-to-trail.ts'
import type { FlowDeps } from '../deps.ts'
import type { OutboxEntry, OutboxSource } from '../ports.ts'
import { coalesce } from './coalesce.ts'

/** Outbox entries that were handed over, until the trail has them and their documents forget them. */
export interface Recorder {
  add(source: OutboxSource, entries: readonly OutboxEntry[]): void
  /** Are so many waiting that no more should be added? */
  isFull(): boolean
  /** Records what was added, in a moment: what follows a write soon shares its commands. @throws as `flush` */
  soon(): Promise<void>
  /** Records what was added until now. @throws what the store throws */
  flush(): Promise<void>
}

/** Entries that wait at most. */
const MOST = 100

/** Long enough for a callback to be delivered meanwhile, short enough for the trail to be read as if there were no wait. */
const MOMENT_MS = 40

/**
 * One insert into the trail, one write to each collection, however many entries were added.
 * @param left called with each collection some of whose entries could not be recorded: they are to be looked for again
 */
export function createRecorder(
  deps: Pick<FlowDeps, 'trail' | 'random'>,
  left: (source: OutboxSource) => void,
): Recorder {
  const append = createAppender(deps)
  const waiting = new Map<OutboxSource, OutboxEntry[]>()
  const flush = coalesce(async () => {
    const taken = [...waiting]
    waiting.clear()
    const records = taken.flatMap(([, entries]) => entries.flatMap(({ audit }) => audit))
    const appended = append(records.sort((a, b) => a.at.getTime() - b.at.getTime()))
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
    await appended
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

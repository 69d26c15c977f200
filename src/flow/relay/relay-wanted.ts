import type { OutboxEntry, OutboxSource } from '../../ports/ports.ts'
import type { Written } from '../../store/mongo/outbox.ts'

/** Documents handled at a time. */
export const RELAY_BATCH = 100

/** Tracks where the relay must look next: for each collection the entries it was given, or everything that is due. */
export function createWanted(sources: readonly OutboxSource[]) {
  const entries = new Map<OutboxSource, Map<string, OutboxEntry> | 'all'>()
  const all = (source: OutboxSource): void => void entries.set(source, 'all')
  return {
    all,
    add(source: OutboxSource, { document, hint }: Written): void {
      const known = entries.get(source) ?? new Map<string, OutboxEntry>()
      const entry = document && { ...source.read(document), ...hint }
      if (entry?.token === '') return
      // Two writes of one document may be reported in the reverse order.
      if (entry === undefined || known === 'all' || known.size >= RELAY_BATCH || known.has(entry.id))
        all(source)
      else entries.set(source, known.set(entry.id, entry))
    },
    /** Takes the work in the order of the sources. @returns without `given` where everything that is due is wanted */
    take(): { source: OutboxSource; given?: OutboxEntry[] }[] {
      const taken = sources.flatMap((source) => {
        const known = entries.get(source)
        if (known === undefined) return []
        return known === 'all' ? [{ source }] : [{ source, given: [...known.values()] }]
      })
      entries.clear()
      return taken
    },
  }
}

import { compileFilter } from '../semantics/filter.ts'
import { indexRanges } from '../semantics/index-ranges.ts'
import type { CollectionIndex } from './collection-index.ts'
import type { StoreEngine } from './store-engine.ts'
import type { StoreRecord } from './store-record.ts'

/** How often MongoDB's TTL monitor runs, too. */
const INTERVAL_MS = 60_000

/**
 * Once a minute: removes documents that TTL indexes have expired and forgets idle cursors.
 * Returns a function that stops it.
 */
export function startHousekeeping(
  engine: StoreEngine,
  service: { afterCommit(done: () => void): void },
): () => void {
  let pending: NodeJS.Immediate | undefined
  const sweep = () => {
    const now = new Date()
    engine.cursors.expire(now.getTime())
    const more = sweepExpired(engine, now)
    // A large backlog is worked off in steps, so that commands get their turn in between.
    service.afterCommit(() => {
      if (more) pending = setImmediate(sweep)
    })
  }
  const timer = setInterval(sweep, INTERVAL_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    clearImmediate(pending)
  }
}

/** Removals in one go; one commit of this size takes a few milliseconds. */
const STEP = 1000

/**
 * Removes documents whose TTL index says they have expired at `now`: the indexed field is a date, or an
 * array whose earliest date is, at least `expireAfterSeconds` old. Returns whether there may be more.
 */
export function sweepExpired(engine: StoreEngine, now: Date): boolean {
  for (const collection of engine.collections()) {
    for (const index of collection.indexes) {
      if (index.spec.expireAfterSeconds === undefined) continue
      const expired = expiredRecords(index, index.spec.expireAfterSeconds, now)
      for (const record of expired) collection.remove(record)
      if (expired.size === STEP) return true
    }
  }
  return false
}

function expiredRecords(index: CollectionIndex, afterSeconds: number, now: Date): Set<StoreRecord> {
  const limit = new Date(now.getTime() - afterSeconds * 1000)
  const filter = compileFilter(new Map([[index.spec.fields[0]?.path ?? '', new Map([['$lte', limit]])]]))
  // A partial TTL index holds only what may expire, so its condition needs no repeating in the filter.
  const shape = { fields: index.spec.fields, sparse: false, partial: undefined }
  const expired = new Set<StoreRecord>()
  for (const range of indexRanges(filter, shape, index.multikey)?.ranges ?? []) {
    for (const record of index.entries.scan(range)) {
      expired.add(record)
      if (expired.size === STEP) return expired
    }
  }
  return expired
}

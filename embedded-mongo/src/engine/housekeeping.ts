import { compileFilter } from '../semantics/filter.ts'
import { indexRanges } from '../semantics/index-ranges.ts'
import type { Collection } from './collection.ts'
import type { CollectionIndex } from './collection-index.ts'
import { readRecords } from './read-plan.ts'
import type { Steps } from './slice.ts'
import type { StoreEngine } from './store-engine.ts'
import type { StoreRecord } from './store-record.ts'

/** The interval of MongoDB's TTL monitor. */
const INTERVAL_MS = 60_000

/**
 * Starts the work done once a minute: removes documents that TTL indexes have expired, forgets idle cursors and
 * gives unused space back to the file system. Returns a function that stops it.
 */
export function startHousekeeping(
  engine: StoreEngine,
  service: { work(steps: Steps<void>): void },
): () => void {
  const timer = setInterval(() => {
    const now = new Date()
    engine.cursors.expire(now.getTime())
    service.work(keepHouse(engine, now))
  }, INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Removes expired documents and gives free pages back; runs once a minute. */
export function* keepHouse(engine: StoreEngine, now: Date): Steps<void> {
  yield* sweepExpired(engine, now)
  yield* giveBack(engine)
}

/**
 * Removes documents that a TTL index has expired at `now`: the indexed date, or the earliest date of an indexed
 * array, is at least `expireAfterSeconds` old.
 */
export function* sweepExpired(engine: StoreEngine, now: Date): Steps<void> {
  for (const collection of engine.collections()) {
    for (const index of [...collection.indexes]) {
      if (index.spec.expireAfterSeconds === undefined || index.building || collection.dropped) continue
      yield* removeExpired(collection, index, new Date(now.getTime() - index.spec.expireAfterSeconds * 1000))
    }
  }
}

function* removeExpired(collection: Collection, index: CollectionIndex, limit: Date): Steps<void> {
  const { fields, partial } = index.spec
  const filter = compileFilter(new Map([[fields[0]?.path ?? '', new Map([['$lte', limit]])]]))
  // A partial TTL index holds only documents that may expire, so the filter need not repeat its condition.
  const shape = { fields, sparse: false, partial: undefined }
  const ranges = indexRanges(filter, shape, index.multikey)?.ranges ?? []
  const plan = { index, ranges, backwards: false, sorted: true, exact: false }
  const isOver = ({ document }: StoreRecord): boolean =>
    filter.matches(document, limit) && partial?.matches(document, limit) !== false
  const expired: number[] = []
  for (const record of readRecords(collection, plan)) {
    if (record === undefined) yield
    else if (isOver(record)) expired.push(record.number)
  }
  for (const number of expired) {
    if (collection.host.slice.over) yield* collection.pause()
    const record = collection.read(number)
    // The document may have been given more time since it was first read.
    if (record !== undefined && isOver(record)) collection.remove(record)
  }
}

/** Free pages kept for the next writes: 2 MiB. */
const SPARE_PAGES = 256
/** Pages given back between two looks at the clock. */
const STEP_PAGES = 64

/** Gives free pages back while they are at least a quarter of the file. */
function* giveBack(engine: StoreEngine): Steps<void> {
  for (;;) {
    const { all, free } = engine.file.pages()
    if (free < SPARE_PAGES || free * 4 < all) return
    engine.change(() => engine.file.shrink(STEP_PAGES))
    if (engine.slice.over) yield
  }
}

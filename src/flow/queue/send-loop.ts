import { coalesce } from '../../ports/coalesce.ts'
import type { AttemptOutcome, Clock, Log } from '../../ports/ports.ts'
import { warnSeldom } from '../../ports/warn-seldom.ts'
import type { Choice, Claimed, Lease } from '../../store/delivery/queue.ts'

/** Returns the initial fields of a record in a queue: due now, nothing tried yet. */
export function dueNow(now: Date) {
  return { state: 'due' as const, next_at: now, tries: 0, fence: 0, attempts: [], created_at: now, audit: [] }
}

/** The loop of one process that sends the due records of one queue. */
export interface SendLoop<R> {
  /** Claims due records as long as there is room. Never throws, never waits. */
  wake(): void
  /**
   * Has new records stored that are due now. Records for which there is room are stored as leased to this process, and sent
   * without a claim once they are stored.
   * @param store inserts them. @returns the ids of those that were not there already
   * @throws what `store` throws
   */
  enter(records: readonly R[], store: (records: readonly R[]) => Promise<ReadonlySet<string>>): Promise<void>
  /** Stops claiming and resolves when the attempts under way have reported; their connections may end later. */
  drain(): Promise<void>
}

/** The attempts under way in this process. */
export interface Slots<R, Busy> {
  /** The part of a claim's query that leaves out receivers that are busy. */
  busy(now: Date): Busy
  /** The number of free slots. */
  room(): number
  /** Checks whether there is a slot for this record. */
  fits(record: R): boolean
  take(record: R): void
  free(record: R): void
}

/** What the loop needs to know of one queue. */
export interface Sending<R, Busy extends object> {
  /** The name of a record in logs. */
  name: { one: string; many: string }
  slots: Slots<R, Busy>
  /** Milliseconds, longer than the longest attempt; afterwards another process may take over. */
  leaseMs: number
  claim(query: Lease & Busy & Choice<R>): Promise<Claimed<R>[]>
  /**
   * Makes one attempt and records its result.
   * @param sent gives the slot back once this promise resolves, whether or not the result has been written; if it is not
   *   called, the end of the attempt gives the slot back
   * @returns the time at which the record is due again
   */
  attempt(claimed: Claimed<R>, sent: (gone: Promise<void>) => void): Promise<Date | undefined>
}

/** A record that can be leased. */
interface Leasable {
  id: string
  state: string
  next_at: Date
  fence: number
}

/**
 * Creates the loop of claim, attempt and report. Any number of processes share the work: a claim is a conditional write, and
 * the claims of a process that died can be taken again when their leases end.
 */
export function createSendLoop<R extends Leasable, Busy extends object>(
  sending: Sending<R, Busy>,
  { clock, log }: { clock: Clock; log: Log },
): SendLoop<R> {
  const { name, slots, leaseMs } = sending
  const underWay = new Set<Promise<unknown>>()
  let stopped = false
  /** True when due records may have been left because there was no room. */
  let left = false
  /** Records that are claimed and whose results are not written yet. */
  let attempts = 0

  const track = <T>(work: Promise<T>): Promise<T> => keepIn(underWay, work)
  const attempt = async (claimed: Claimed<R>, lookAgain: boolean): Promise<void> => {
    const { record } = claimed
    let sent = false
    const free = (): void => {
      // What was left waits for room like this. Any other room is no reason to read a whole backlog again (T8).
      const wasFull = !slots.fits(record)
      slots.free(record)
      if (lookAgain || (left && wasFull)) wake()
    }
    try {
      const again = await sending.attempt(claimed, (gone) => {
        sent = true
        gone.then(free)
      })
      if (again !== undefined) wakeAt(again, wake, clock)
    } catch (error) {
      log.error({ error, [`${name.one}_id`]: record.id }, 'recording an attempt failed; its lease will end')
    }
    attempts -= 1
    if (!sent) free()
    if (attempts === MOST_ATTEMPTS - 1 && left) wake()
  }
  const leasing: Leasing<R> = {
    lease: () => leaseFrom(clock.now(), leaseMs),
    take(record) {
      const fits = !stopped && attempts < MOST_ATTEMPTS && slots.fits(record)
      if (!fits) return false
      attempts += 1
      slots.take(record)
      return true
    },
    free(record) {
      attempts -= 1
      slots.free(record)
    },
    begin: (claimed, lookAgain) => void track(attempt(claimed, lookAgain)),
  }
  const claimAll = coalesce(async () => {
    left = true
    for (let more = true; more && !stopped && slots.room() > 0 && attempts < MOST_ATTEMPTS; )
      ({ more, left } = await claimSome(sending, leasing))
  })
  const trouble = warnSeldom(log, `claiming ${name.many} failed; the next sweep tries again`)
  const wake = (): void => void claimAll().then(trouble.worked, trouble.failed)
  return {
    wake,
    async enter(records, store) {
      const { complete, freed } = await track(enter(leasing, records, store))
      if (!complete || (freed && left)) wake()
    },
    async drain() {
      stopped = true
      await claimAll().catch(() => undefined)
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

/** Keeps the promise in the set until it settles. */
function keepIn<T>(underWay: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  const running: Promise<T> = work.finally(() => underWay.delete(running))
  underWay.add(running)
  return running
}

function leaseFrom(now: Date, leaseMs: number): Lease {
  return { now, leaseEnds: new Date(now.getTime() + leaseMs) }
}

/** The operations that claiming and entering share. */
interface Leasing<R> {
  /** Returns a lease that begins now. */
  lease(): Lease
  /** Takes a slot. @returns false when there is none for this record */
  take(record: R): boolean
  free(record: R): void
  /** Begins the attempt at a record that is leased and has a slot. `lookAgain`: more may be due once the slot is free. */
  begin(claimed: Claimed<R>, lookAgain: boolean): void
}

/** The most records that one query reads and one write claims. */
const MOST_CLAIMED = 64

/**
 * The most attempts, including those that were sent and whose results wait for the store: the next ones are sent meanwhile. A
 * killed process leaves at most this many to be sent again.
 */
const MOST_ATTEMPTS = 128

/** Claims a batch. @returns `more`: more may be due for which there is room; `left`: a due record may wait for room */
async function claimSome<R extends Leasable, Busy extends object>(
  { slots, claim }: Sending<R, Busy>,
  leasing: Leasing<R>,
): Promise<{ more: boolean; left: boolean }> {
  const { now, leaseEnds } = leasing.lease()
  const limit = Math.min(slots.room(), MOST_CLAIMED)
  const busy = slots.busy(now)
  const taken = new Map<string, R>()
  let found = 0
  let passed = 0
  let stolen = false
  const choose = (records: readonly R[]): R[] => {
    const chosen = records.filter(leasing.take)
    for (const record of chosen) taken.set(record.id, record)
    found = records.length
    passed = found - chosen.length
    return chosen
  }
  try {
    for (const claimed of await claim({ ...busy, now, leaseEnds, limit, choose })) {
      taken.delete(claimed.record.id)
      leasing.begin(claimed, true)
    }
    stolen = taken.size > 0
  } finally {
    // Another process has claimed these.
    for (const record of taken.values()) leasing.free(record)
  }
  // What another process took leaves room for what was passed over.
  const more = found === limit || (stolen && passed > 0)
  return { more, left: more || passed > 0 || Object.values(busy).some(({ length }) => length > 0) }
}

/** Stores new records. @returns `complete`: room was there for every one; `freed`: some existed already and left their room */
async function enter<R extends Leasable>(
  leasing: Leasing<R>,
  records: readonly R[],
  store: (records: readonly R[]) => Promise<ReadonlySet<string>>,
): Promise<{ complete: boolean; freed: boolean }> {
  const { leaseEnds } = leasing.lease()
  const leased = new Map<string, R>()
  const all = records.map((record) => {
    if (!leasing.take(record)) return record
    const mine: R = { ...record, state: 'leased', next_at: leaseEnds, fence: record.fence + 1 }
    leased.set(mine.id, mine)
    return mine
  })
  const complete = leased.size === records.length
  try {
    const stored = await store(all)
    for (const record of [...leased.values()].filter(({ id }) => stored.has(id))) {
      leased.delete(record.id)
      leasing.begin({ record, interrupted: false }, false)
    }
    return { complete, freed: leased.size > 0 }
  } finally {
    for (const record of leased.values()) leasing.free(record)
  }
}

/** Milliseconds of delay, since by the store's clock the due time may still be ahead. */
const AFTER_MS = 5

/** Milliseconds: a record that is due later than this is left to the sweep. */
const SOON_MS = 60_000

/** Wakes this process at that millisecond, so that a retry after one second really comes after one second. */
export function wakeAt(time: Date, wake: () => void, clock: Pick<Clock, 'now'>): void {
  const wait = time.getTime() - clock.now().getTime() + AFTER_MS
  if (wait <= SOON_MS) setTimeout(wake, Math.max(0, wait)).unref()
}

/**
 * Returns a `send` for one attempt that keeps the slot until the connection is gone, even when the result cannot be recorded:
 * otherwise a receiver that answers and holds its connections open could have any number of them (T8, T9).
 */
export function holding<M>(
  sender: { send(message: M): Promise<AttemptOutcome> },
  sent: (gone: Promise<void>) => void,
): (message: M) => Promise<AttemptOutcome> {
  return async (message) => {
    const outcome = await sender.send(message)
    sent(outcome.closed ?? Promise.resolve())
    return outcome
  }
}

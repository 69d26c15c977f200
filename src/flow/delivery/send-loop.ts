import type { Choice, Claimed, Lease } from '../../store/queue.ts'
import type { AttemptOutcome, Clock, Log } from '../ports.ts'
import { coalesce } from './coalesce.ts'
import { warnSeldom } from './warn-seldom.ts'

/** What every new record of a queue begins with: it is due now, and nothing was tried. */
export function dueNow(now: Date) {
  return { state: 'due' as const, next_at: now, tries: 0, fence: 0, attempts: [], created_at: now, audit: [] }
}

/** The loop of one process that sends what is due of one kind. */
export interface SendLoop<R> {
  /** Something may be due: claim as long as there is room. Never throws, never waits. */
  wake(): void
  /**
   * Has records stored that are due now. Those for which there is room are leased to this process from the start, and sent
   * without a claim as soon as they are stored.
   * @param store inserts them. @returns the ids of those that were not there already
   * @throws what `store` throws
   */
  enter(records: readonly R[], store: (records: readonly R[]) => Promise<ReadonlySet<string>>): Promise<void>
  /** Claims nothing more and resolves when the attempts under way have reported; connections may end later. */
  drain(): Promise<void>
}

/** What is under way in this process. */
export interface Slots<R, Busy> {
  /** What a claim must leave out. */
  busy(now: Date): Busy
  /** How many more can be under way at most. */
  room(): number
  /** Can this one, too? */
  fits(record: R): boolean
  take(record: R): void
  free(record: R): void
}

/** One kind of thing to send. */
export interface Sending<R, Busy extends object> {
  /** Of it, in logs. */
  name: { one: string; many: string }
  slots: Slots<R, Busy>
  /** Milliseconds; longer than the longest attempt. After it another worker takes over. */
  leaseMs: number
  claim(query: Lease & Busy & Choice<R>): Promise<Claimed<R>[]>
  /**
   * One attempt, and the write that records its result.
   * @param sent gives the slot back as soon as this promise resolves, be the result written by then or not; the attempt's end
   *   does where it was not called
   * @returns when it is due again
   */
  attempt(claimed: Claimed<R>, sent: (gone: Promise<void>) => void): Promise<Date | undefined>
}

/** What can be leased. */
interface Leasable {
  id: string
  state: string
  next_at: Date
  fence: number
}

/**
 * The loop of claim, attempt and report. Any number of processes share the work: a claim is a conditional write, and what a
 * process that died had claimed is claimed again when its lease ends.
 */
export function createSendLoop<R extends Leasable, Busy extends object>(
  sending: Sending<R, Busy>,
  { clock, log }: { clock: Clock; log: Log },
): SendLoop<R> {
  const { name, slots, leaseMs } = sending
  const underWay = new Set<Promise<unknown>>()
  let stopped = false
  /** Something that is due may have been left for want of room. */
  let left = false
  /** Claimed, and their results not written. */
  let attempts = 0

  const track = <T>(work: Promise<T>): Promise<T> => keepIn(underWay, work)
  const attempt = async (claimed: Claimed<R>, lookAgain: boolean): Promise<void> => {
    const { record } = claimed
    let sent = false
    const free = (): void => {
      slots.free(record)
      if (lookAgain || left) wake()
    }
    try {
      const again = await sending.attempt(claimed, (gone) => {
        sent = true
        gone.then(free)
      })
      if (again !== undefined) wakeAt(again, wake, clock)
    } catch (error) {
      log.error({ error, [`${name.one}_id`]: record.id }, 'an attempt was not recorded; its lease will end')
    }
    attempts -= 1
    if (!sent) free()
    else if (attempts === MOST_ATTEMPTS - 1 && left) wake()
  }
  const hands: Hands<R> = {
    lease() {
      const now = clock.now()
      return { now, leaseEnds: new Date(now.getTime() + leaseMs) }
    },
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
      ({ more, left } = await claimSome(sending, hands))
  })
  const trouble = warnSeldom(log, `claiming ${name.many} failed; the sweep tries again`)
  const wake = (): void => void claimAll().then(trouble.worked, trouble.failed)
  return {
    wake,
    async enter(records, store) {
      if (!(await track(enter(hands, records, store)))) wake()
    },
    async drain() {
      stopped = true
      await claimAll().catch(() => undefined)
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

/** Keeps it there until it is settled. */
function keepIn<T>(underWay: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  const running: Promise<T> = work.finally(() => underWay.delete(running))
  underWay.add(running)
  return running
}

/** What claiming and entering share. */
interface Hands<R> {
  /** One that begins now. */
  lease(): Lease
  /** Takes a slot. @returns false when there is none for it */
  take(record: R): boolean
  free(record: R): void
  /** The attempt at what is leased and has its slot. `lookAgain`: where it was found there may be more. */
  begin(claimed: Claimed<R>, lookAgain: boolean): void
}

/** Looked through by one question, and claimed by one write. */
const MOST_CLAIMED = 64

/**
 * Under way, with those that were sent while their results wait for the store: while it writes them the next ones are sent. A
 * process that is killed leaves so many at most to be sent again.
 */
const MOST_ATTEMPTS = 128

/** @returns `more`: there may be more for which there is room; `left`: something may wait for room */
async function claimSome<R extends Leasable, Busy extends object>(
  { slots, claim }: Sending<R, Busy>,
  hands: Hands<R>,
): Promise<{ more: boolean; left: boolean }> {
  const { now, leaseEnds } = hands.lease()
  const limit = Math.min(slots.room(), MOST_CLAIMED)
  const busy = slots.busy(now)
  const taken = new Map<string, R>()
  let found = 0
  let passed = 0
  const choose = (records: readonly R[]): R[] => {
    const chosen = records.filter(hands.take)
    for (const record of chosen) taken.set(record.id, record)
    found = records.length
    passed = found - chosen.length
    return chosen
  }
  try {
    for (const claimed of await claim({ ...busy, now, leaseEnds, limit, choose })) {
      taken.delete(claimed.record.id)
      hands.begin(claimed, true)
    }
  } finally {
    // Another process was faster.
    for (const record of taken.values()) hands.free(record)
  }
  const more = found === limit
  return { more, left: more || passed > 0 || Object.values(busy).some(({ length }) => length > 0) }
}

/** @returns whether all are leased, or were there already */
async function enter<R extends Leasable>(
  hands: Hands<R>,
  records: readonly R[],
  store: (records: readonly R[]) => Promise<ReadonlySet<string>>,
): Promise<boolean> {
  const { leaseEnds } = hands.lease()
  const leased = new Map<string, R>()
  const all = records.map((record) => {
    if (!hands.take(record)) return record
    const mine: R = { ...record, state: 'leased', next_at: leaseEnds, fence: record.fence + 1 }
    leased.set(mine.id, mine)
    return mine
  })
  const complete = leased.size === records.length
  try {
    const stored = await store(all)
    for (const record of [...leased.values()].filter(({ id }) => stored.has(id))) {
      leased.delete(record.id)
      hands.begin({ record, interrupted: false }, false)
    }
  } finally {
    for (const record of leased.values()) hands.free(record)
  }
  return complete
}

/** Later than the time itself, which the store may still call future. */
const AFTER_MS = 5

/** What is due later than this is left to the sweep. */
const SOON_MS = 60_000

/** Wakes this process on the millisecond, so that a retry after one second comes after one second. */
export function wakeAt(time: Date, wake: () => void, clock: Clock): void {
  const wait = time.getTime() - clock.now().getTime() + AFTER_MS
  if (wait <= SOON_MS) setTimeout(wake, Math.max(0, wait)).unref()
}

/**
 * The `send` of one attempt, which gives the attempt's slot back when the connection is gone: not sooner, even when the result
 * cannot be recorded, since a receiver that answers and holds its connections open could have any number of them (T8, T9).
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

/**
 * The store was so slow that the lease could end before the attempt does: another worker would send beside us. The record is
 * left to the process that claims it next (T82).
 */
export function isTooLate(
  { clock, settings }: { clock: Clock; settings: { attemptMs: number } },
  { next_at: leaseEnds }: { next_at: Date },
): boolean {
  return clock.now().getTime() + settings.attemptMs >= leaseEnds.getTime()
}

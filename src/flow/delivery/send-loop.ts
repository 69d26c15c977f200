import type { Busy } from '../../store/deliveries.ts'
import type { Claimed, Lease } from '../../store/queue.ts'
import type { Clock, Log } from '../ports.ts'
import { coalesce } from './coalesce.ts'
import { warnSeldom } from './warn-seldom.ts'

/** The loop of one process that sends what is due of one kind. */
export interface SendLoop {
  /** Something may be due: claim as long as there is room. Never throws, never waits. */
  wake(): void
  /** Claims nothing more and resolves when the attempts under way have reported; connections may end later. */
  drain(): Promise<void>
}

/** What is under way in this process. */
export interface Slots<R, Busy> {
  /** What a claim must leave out. */
  busy(now: Date): Busy
  /**
   * Can that many claims be on their way at once? Only if the limits hold whatever all of them turn out to bring.
   */
  roomFor(claims: number): boolean
  take(record: R): void
  free(record: R): void
}

/** One kind of thing to send. */
export interface Sending<R, Busy> {
  /** Of it, in logs. */
  name: { one: string; many: string }
  slots: Slots<R, Busy>
  /** Milliseconds; longer than the longest attempt. After it another worker takes over. */
  leaseMs: number
  claim(query: Lease & Busy): Promise<Claimed<R> | undefined>
  /**
   * One attempt, and the write that records its result.
   * @param hold keeps the slot, after the attempt, until this promise resolves
   * @returns when it is due again
   */
  attempt(claimed: Claimed<R>, hold: (until: Promise<void>) => void): Promise<Date | undefined>
}

/**
 * The loop of claim, attempt and report. Any number of processes share the work: a claim is a conditional write, and what a
 * process that died had claimed is claimed again when its lease ends.
 */
export function createSendLoop<R extends { id: string }, Busy>(
  { name, slots, leaseMs, ...sending }: Sending<R, Busy>,
  { clock, log }: { clock: Clock; log: Log },
): SendLoop {
  const underWay = new Set<Promise<void>>()
  let claiming = 0
  let stopped = false

  const attempt = async (claimed: Claimed<R>): Promise<void> => {
    const { record } = claimed
    let held = Promise.resolve()
    const hold = (until: Promise<void>): void => {
      held = until
    }
    try {
      const again = await sending.attempt(claimed, hold)
      if (again !== undefined) wakeAt(again, wake, clock)
    } catch (error) {
      log.error({ error, [`${name.one}_id`]: record.id }, 'an attempt was not recorded; its lease will end')
    }
    held.then(() => {
      slots.free(record)
      wake()
    })
  }
  const begin = (claimed: Claimed<R>): void => {
    slots.take(claimed.record)
    const running: Promise<void> = attempt(claimed).finally(() => underWay.delete(running))
    underWay.add(running)
  }
  /** @returns false when nothing was due */
  const claimOne = async (): Promise<boolean> => {
    const now = clock.now()
    claiming += 1
    try {
      const leaseEnds = new Date(now.getTime() + leaseMs)
      const claimed = await sending.claim({ now, leaseEnds, ...slots.busy(now) })
      if (claimed !== undefined) begin(claimed)
      return claimed !== undefined
    } finally {
      claiming -= 1
    }
  }
  const room = (more: number): boolean => !stopped && slots.roomFor(claiming + more)
  const claimAll = coalesce(() => claimInLanes(claimOne, room))
  const trouble = warnSeldom(log, `claiming ${name.many} failed; the sweep tries again`)
  const wake = (): void => void claimAll().then(trouble.worked, trouble.failed)
  return {
    wake,
    async drain() {
      stopped = true
      // A claim that was on its way may still return a record; it is sent as well.
      await claimAll().catch(() => undefined)
      await Promise.all(underWay)
    },
  }
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
 * The store was so slow that the lease could end before the attempt does: another worker would send beside us. The record is
 * left to the process that claims it next (T82).
 */
export function isTooLate(
  { clock, settings }: { clock: Clock; settings: { attemptMs: number } },
  { next_at: leaseEnds }: { next_at: Date },
): boolean {
  return clock.now().getTime() + settings.attemptMs >= leaseEnds.getTime()
}

/**
 * Claims until nothing is due or there is no room. A store makes many writes durable as fast as one, so while there is a
 * backlog several claims are on their way. Each find may bring one more, but not the first: a single delivery costs no
 * question more than it must.
 * @param room for that many claims more than are on their way
 * @throws what a claim threw, once none is on its way
 */
async function claimInLanes(
  claimOne: () => Promise<boolean>,
  room: (more: number) => boolean,
): Promise<void> {
  const workers: Promise<unknown>[] = []
  const failures: unknown[] = []
  let found = 0
  const worker = async (): Promise<void> => {
    while (room(1) && (await claimOne())) {
      found += 1
      if (found > 1 && room(2)) open()
    }
  }
  const open = (): void => void workers.push(worker().catch((error: unknown) => failures.push(error)))
  open()
  // Grows while it is walked.
  for (const running of workers) await running
  if (failures.length > 0) throw failures[0]
}

/** How much one process sends at once. */
export interface SendLimits {
  /** Attempts under way in this process, with the connections that outlast them. */
  total: number
  /** Of them, to one host: no receiver can take all workers, nor be flooded by us (T8, T9). */
  perHost: number
  /** Of them, for one account: no account can take all workers by many host names for slow receivers (T8). */
  perAccount: number
}

interface Sent {
  host: string
  account_id: string
}

/** Counts what is under way by host and by account, for one process; nothing is shared. */
export function createSendSlots({ total, perHost, perAccount }: SendLimits): Slots<Sent, Busy> {
  const hosts = createCount(perHost)
  const accounts = createCount(perAccount)
  let taken = 0
  return {
    busy: () => ({ busyHosts: hosts.full(), busyAccounts: accounts.full() }),
    roomFor: (claims) => taken + claims <= total && hosts.roomFor(claims) && accounts.roomFor(claims),
    take({ host, account_id }) {
      taken += 1
      hosts.add(host, 1)
      accounts.add(account_id, 1)
    },
    free({ host, account_id }) {
      taken -= 1
      hosts.add(host, -1)
      accounts.add(account_id, -1)
    },
  }
}

function createCount(limit: number) {
  const counts = new Map<string, number>()
  return {
    full: () => [...counts].filter(([, n]) => n >= limit).map(([name]) => name),
    roomFor: (more: number) =>
      more <= limit && [...counts.values()].every((n) => n >= limit || n + more <= limit),
    add(name: string, change: 1 | -1) {
      const left = (counts.get(name) ?? 0) + change
      if (left === 0) counts.delete(name)
      else counts.set(name, left)
    },
  }
}

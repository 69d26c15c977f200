import type { Clock, Log } from '../ports/ports.ts'
import type { StoreConnection } from './mongo/connect.ts'

/** A clock that can be stopped. */
export interface StoreClock extends Clock {
  /** Asks the database for its time; never throws. */
  refresh(): Promise<void>
  stop(): void
}

const REFRESH_MS = 30_000
/** While the time is unsure and the store does not answer. */
const AGAIN_MS = 1_000

/** More than the clocks of processes differ that follow the same store. */
const SKEW_MS = 5_000

/** Returns the time after which nothing that is `latest` at most can have been stored, unless the store's clock was set back since. */
export function beyond(latest: Date): Date {
  return new Date(latest.getTime() + SKEW_MS)
}

/** Skew above which the operator is warned: receipts stay right, but the machine's own logs do not (T75). */
export const SKEW_WARNING_MS = 2_000

/**
 * A sample is off by at most half of its round trip. A sample that took longer than this, and longer than twice the quickest
 * so far, shows that the store stalled and says nothing about its clock: it is not used.
 */
const SLOW_MS = 150

/** After this many slow samples in a row one is used all the same: the store may be far away by now. */
const MOST_SLOW = 10

/** A difference between the local clock and the monotonic one, from which on the local one was set or the machine slept. */
const STEP_MS = 500

/**
 * Follows the database's clock: the offset is read from `hello.localTime` at start and every 30 s, halving the round trip. If the
 * local clock is set meanwhile, time goes on as if it had not been, and the database is asked at once: otherwise housekeeping would
 * delete by the step (T75).
 * @param local milliseconds of the local clock; replaced in tests by a wrong one.
 * @param steady milliseconds of a clock that is never set; where `local` is replaced, that one
 */
export async function createStoreClock(
  connection: StoreConnection,
  log: Log,
  local: () => number = Date.now,
  steady: () => number = local === Date.now ? () => performance.now() : local,
): Promise<StoreClock> {
  const first = await quickestHello(connection, local)
  let offset = first.skewMs
  let quickest = first.tookMs
  let slow = 0
  const clocks = () => ({ wall: local(), steady: steady() })
  let seen = clocks()
  let steps = 0
  warn(log, offset)
  /** The local clock was set, or the machine slept: any sample counts until the next one is in. */
  let unsure = false
  let again: NodeJS.Timeout | undefined
  const refresh = async (): Promise<void> => {
    const asked = steps
    try {
      const { skewMs, tookMs } = await readHello(connection, local)
      // Below zero: the local clock was set between question and answer.
      slow = tookMs < 0 || tookMs > Math.max(SLOW_MS, 2 * quickest) ? slow + 1 : 0
      if (tookMs < 0 || asked !== steps) return
      if (slow > 0 && slow < MOST_SLOW && !unsure) return
      unsure = false
      quickest = slow === 0 ? Math.min(quickest, tookMs) : tookMs
      slow = 0
      offset = skewMs
      seen = clocks()
      warn(log, offset)
    } catch (error) {
      log.warn({ error }, 'reading the clock of the store failed')
      clearTimeout(again)
      if (unsure) again = setTimeout(() => void refresh(), AGAIN_MS).unref()
    }
  }
  const timer = setInterval(() => void refresh(), REFRESH_MS).unref()
  const now = (): Date => {
    const before = seen
    seen = clocks()
    const step = seen.wall - before.wall - (seen.steady - before.steady)
    if (Math.abs(step) > STEP_MS) {
      offset -= step
      steps += 1
      unsure = true
      void refresh()
    }
    return new Date(seen.wall + offset)
  }
  const stop = (): void => {
    clearInterval(timer)
    clearTimeout(again)
    unsure = false
  }
  return { now, steady, refresh, stop }
}

/** Asks up to three times while answers are slow: at the start there is no earlier sample to compare with. */
async function quickestHello(connection: StoreConnection, local: () => number) {
  let quickest = await readHello(connection, local)
  for (let more = 2; more > 0 && quickest.tookMs > SLOW_MS; more -= 1) {
    const next = await readHello(connection, local)
    if (next.tookMs < quickest.tookMs) quickest = next
  }
  return quickest
}

/**
 * Reads the store's clock by `hello`.
 * @returns milliseconds by which it is ahead of `local`, corrected by half the round trip; and the round trip
 * @throws when the store does not answer, or tells no time
 */
export async function readHello(
  connection: StoreConnection,
  local: () => number = Date.now,
): Promise<{ skewMs: number; tookMs: number }> {
  const sent = local()
  const hello = await connection.db?.admin().command({ hello: 1 })
  const received = local()
  const there: unknown = hello?.localTime
  if (!(there instanceof Date)) throw new TypeError('reading the clock of the store failed')
  return { skewMs: Math.round(there.getTime() - (sent + received) / 2), tookMs: received - sent }
}

function warn(log: Log, offset: number): void {
  if (Math.abs(offset) > SKEW_WARNING_MS) {
    log.warn(
      { offset_ms: offset },
      'the clock of this machine differs from that of the database; the service uses the clock of the database',
    )
  }
}

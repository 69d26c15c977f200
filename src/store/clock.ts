import type { Clock, Log } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'

/** A clock that can be stopped. */
export interface StoreClock extends Clock {
  stop(): void
}

const REFRESH_MS = 30_000

/** Above this the operator gets a warning: receipts stay right, but the machine's own logs will not (T75). */
const SKEW_WARNING_MS = 2_000

/**
 * Follows the database's clock: the offset is read from `hello.localTime` at start and every 30 s, halving the round trip.
 * @param local milliseconds of the local clock; replaced in tests by a wrong one.
 */
export async function createStoreClock(
  connection: StoreConnection,
  log: Log,
  local: () => number = Date.now,
): Promise<StoreClock> {
  let offset = (await readHello(connection, local)).skewMs
  warn(log, offset)
  const refresh = async (): Promise<void> => {
    try {
      offset = (await readHello(connection, local)).skewMs
      warn(log, offset)
    } catch (error) {
      log.warn({ error }, 'the store did not tell its time')
    }
  }
  const timer = setInterval(() => void refresh(), REFRESH_MS).unref()
  return { now: () => new Date(local() + offset), stop: () => clearInterval(timer) }
}

/**
 * Asks the store who it is.
 * @returns milliseconds its clock is ahead of `local`, half the round trip taken off, and MongoDB's replica set name
 * @throws when it does not answer, or tells no time
 */
export async function readHello(
  connection: StoreConnection,
  local: () => number = Date.now,
): Promise<{ skewMs: number; replicaSet: string | undefined }> {
  const sent = local()
  const hello = await connection.db?.admin().command({ hello: 1 })
  const received = local()
  const there: unknown = hello?.localTime
  if (!(there instanceof Date)) throw new TypeError('the store did not tell its time')
  const name: unknown = hello?.setName
  return {
    skewMs: Math.round(there.getTime() - (sent + received) / 2),
    replicaSet: typeof name === 'string' ? name : undefined,
  }
}

function warn(log: Log, offset: number): void {
  if (Math.abs(offset) > SKEW_WARNING_MS) {
    log.warn(
      { offset_ms: offset },
      'the clock of this machine differs from the database; the database is followed',
    )
  }
}

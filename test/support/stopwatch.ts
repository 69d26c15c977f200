import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { TestService } from './service.ts'

const STEP_MS = 10
/** A store that has not answered for longer than this is held up. It does its work outside this process. */
const HELD_UP_MS = 50

/** Asks the store again and again. @returns `answers`: whether it does at this moment */
function listenTo({ composition }: TestService): { answers: () => boolean; stop: () => void } {
  let heard = performance.now()
  let over = false
  const listen = async (): Promise<void> => {
    while (!over) {
      await composition.connection.db?.command({ ping: 1 }).then(
        () => {
          heard = performance.now()
        },
        () => undefined,
      )
      await pause(STEP_MS)
    }
  }
  void listen()
  return {
    answers: () => performance.now() - heard < HELD_UP_MS,
    stop: () => {
      over = true
    },
  }
}

/**
 * A stopwatch that stands still with the machine: what passes while others have the processor counts for two steps at most,
 * unless this process computed meanwhile. A limit on it tells of the service, not of what else the machine has to do.
 * @param service also stands still while the store of this service does not answer
 * @returns what stops it and tells the milliseconds counted
 */
export function startStopwatch(service?: TestService): () => number {
  const store = service && listenTo(service)
  if (store !== undefined) onTestFinished(store.stop)
  let counted = 0
  let last = performance.now()
  let cpu = process.cpuUsage()
  const step = (): void => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(cpu)
    const idle = store?.answers() === false ? 0 : 2 * STEP_MS
    counted += Math.min(now - last, Math.max(idle, (user + system) / 1_000))
    last = now
    cpu = process.cpuUsage()
  }
  const timer = setInterval(step, STEP_MS)
  return () => {
    clearInterval(timer)
    store?.stop()
    step()
    return counted
  }
}

/**
 * Says it again as often as the service was too late to answer, as people do: on a machine with too much to do that tells of
 * the machine.
 */
export async function untilInTime<R extends { text: string }>(say: () => Promise<R>): Promise<R> {
  let reply = await say()
  for (let times = 0; times < 20 && reply.text.includes('This takes longer than usual'); times += 1)
    reply = await say()
  return reply
}

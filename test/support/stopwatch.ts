const STEP_MS = 10

/**
 * A stopwatch that stands still with the machine: what passes while others have the processor counts for two steps at most,
 * unless this process computed meanwhile. A limit on it tells of the service, not of what else the machine has to do.
 * @returns what stops it and tells the milliseconds counted
 */
export function startStopwatch(): () => number {
  let counted = 0
  let last = performance.now()
  let cpu = process.cpuUsage()
  const step = (): void => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(cpu)
    counted += Math.min(now - last, Math.max(2 * STEP_MS, (user + system) / 1_000))
    last = now
    cpu = process.cpuUsage()
  }
  const timer = setInterval(step, STEP_MS)
  return () => {
    clearInterval(timer)
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

import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Server } from 'node:net'
import type { Log } from '../ports/ports.ts'

/** What a process opens besides waits: calls under way, attempts of deliveries, downloads, connections to the store, files. */
const OTHERS = 500

/** Descriptors for each of MAX_OPEN_WAITS: a wait of a key and a stream of the dashboard, and a tenth more of both. */
const FOR_EACH_WAIT = 2.2

/** Returns the descriptors that a process takes at most within this MAX_OPEN_WAITS. */
export function descriptorsFor(maxOpenWaits: number): number {
  return Math.ceil(maxOpenWaits * FOR_EACH_WAIT) + OTHERS
}

/** Returns the largest MAX_OPEN_WAITS for which so many descriptors are enough; at least 1. */
export function waitsWithin(limit: number): number {
  return Math.max(1, Math.floor((limit - OTHERS) / FOR_EACH_WAIT))
}

/**
 * Returns how many descriptors that process may open, undefined where the system does not say. Node.js raises its soft limit to
 * the hard one as it starts, so both are the same.
 */
export function descriptorLimit(pid: number | 'self' = 'self'): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8')
    const [, limit = ''] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? []
    return limit === 'unlimited' ? Number.POSITIVE_INFINITY : limit === '' ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/** Warns when this process may open fewer descriptors than its settings need. */
export function warnOfDescriptors(maxOpenWaits: number, log: Pick<Log, 'warn'>): void {
  const limit = descriptorLimit() ?? Number.POSITIVE_INFINITY
  const needed = descriptorsFor(maxOpenWaits)
  if (limit >= needed) return
  const told = `the limit of open files is lower than MAX_OPEN_WAITS needs; raise it, or set MAX_OPEN_WAITS=${waitsWithin(limit)}`
  log.warn({ limit, needed }, told)
}

/** How often the watch looks when no connection arrives, and how long it must find descriptors until an outage is over. */
const LOOK_EVERY_MS = 5_000

/**
 * Reports once when descriptors run out, and once when the outage is over. Nobody else would: libuv then drops new connections
 * without telling Node.js, and the caller sees only a reset.
 * @returns what ends the watch
 */
export function watchDescriptors(servers: readonly Server[], log: Log): () => void {
  const limit = descriptorLimit()
  let outage: { since: Date; at: number; last: number } | undefined
  let looking: NodeJS.Immediate | undefined
  const look = (): void => {
    looking = undefined
    const now = performance.now()
    if (isOut()) {
      if (outage === undefined)
        log.error({ limit }, 'file descriptors ran out; new connections are dropped until some are closed')
      outage ??= { since: new Date(), at: now, last: now }
      outage.last = now
    } else if (outage !== undefined && now - outage.last >= LOOK_EVERY_MS) {
      const seconds = Math.round((now - outage.at) / 1000)
      log.info({ since: outage.since, seconds }, 'file descriptors are available again')
      outage = undefined
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  // A burst that takes the last ones is over before the next regular look: so also look once after each turn that accepted some.
  const soon = (): void => {
    looking ??= setImmediate(look)
  }
  for (const server of servers) server.on('connection', soon)
  return () => {
    clearInterval(timer)
    clearImmediate(looking)
    for (const server of servers) server.off('connection', soon)
  }
}

function isOut(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE')
  }
}

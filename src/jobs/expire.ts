import { settleBootstraps } from '../flow/bootstrap/settle-bootstrap.ts'
import { expireRequests } from '../flow/expire-requests.ts'
import type { Sweep } from './sweep.ts'

/**
 * Expiry at the moment it is due. A request lives 60 s at least, so one made right after a run is seen by the next before
 * its time is up; a bootstrap lives longer.
 */
export function expireSweep(
  deps: Parameters<typeof expireRequests>[0] & Parameters<typeof settleBootstraps>[0],
): Sweep {
  const run = async () => {
    const due = [await expireRequests(deps), await settleBootstraps(deps)].filter(
      (time) => time !== undefined,
    )
    return due.sort((a, b) => a.getTime() - b.getTime())[0]
  }
  return { run, between: { least: 100, most: 20_000 } }
}

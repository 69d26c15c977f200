import { expireRequests } from '../flow/expire-requests.ts'
import type { Sweep } from './sweep.ts'

/**
 * Expiry at the moment it is due. A request lives 60 s at least, so one made right after a run is seen by the next before
 * its time is up.
 */
export function expireSweep(deps: Parameters<typeof expireRequests>[0]): Sweep {
  return { run: () => expireRequests(deps), between: { least: 100, most: 20_000 } }
}

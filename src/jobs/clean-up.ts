import { cleanUp } from '../flow/clean-up.ts'
import type { Sweep } from './sweep.ts'

const HOUR_MS = 3_600_000

/** Removes what nobody needs any more. */
export function cleanUpSweep(deps: Parameters<typeof cleanUp>[0]): Sweep {
  const run = async () => {
    await cleanUp(deps)
    return undefined
  }
  return { run, between: { least: HOUR_MS, most: HOUR_MS } }
}

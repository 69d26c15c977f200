import { remindAutomatically } from '../flow/remind-automatically.ts'
import type { Sweep } from './sweep.ts'

/** Automatic reminders; the earliest by the default policy is due 30 s after a request was made. */
export function remindSweep(deps: Parameters<typeof remindAutomatically>[0]): Sweep {
  return { run: () => remindAutomatically(deps), between: { least: 1_000, most: 20_000 } }
}

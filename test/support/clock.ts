import type { Clock } from '../../src/ports/ports.ts'

/** A clock whose steady time passes as its time does: by default the machine's. @param ms since 1970 */
export function clockOf(ms: () => number = Date.now): Clock {
  return { now: () => new Date(ms()), steady: ms }
}

import { refusal } from '../domain/errors.ts'
import { createCount } from '../flow/queue/send-slots.ts'

/**
 * Slots for open waits, streams and files (T67): few per key or person, and bounded, so that idle connections cannot exhaust
 * the process. An account with very many keys or people may hold them all; a tenth more is for accounts that hold few.
 */
export interface Slots {
  /** @returns a function that gives the key's or person's slot back. @throws Refusal `too_many_waits` */
  take(holder: Holder): () => void
  /** @returns undefined when there is none: for a call that can also answer without a wait */
  takeIfFree(holder: Holder): (() => void) | undefined
}

interface Holder {
  id: string
  account_id: string
}

/** Slots for waits and streams of one key or person. */
export const WAITS_EACH = 10

/** Slots for downloads, per key or person and per process: a file costs the store far more than a wait does. */
export const DOWNLOADS = { each: 2, process: 50 }

/** Open slots from which on waits account for most of the process's memory. */
const CROWD = 2000

/** Creates the slots of one process; `crowded` is called when very many are taken, and again when few are. */
export function createSlots(
  most: { each: number; process: number },
  crowded: (many: boolean) => void = () => {},
): Slots {
  const holders = createCount(most.each)
  const accounts = createCount(most.each)
  let total = 0
  let many = false
  const count = (change: 1 | -1): void => {
    total += change
    // Falls back only at half, so that a number that moves around the limit does not call `crowded` each time.
    if (many === total >= (many ? CROWD / 2 : CROWD)) return
    many = !many
    crowded(many)
  }
  const takeIfFree: Slots['takeIfFree'] = ({ id, account_id }) => {
    const room = accounts.fits(account_id) ? most.process + Math.floor(most.process / 10) : most.process
    if (!holders.fits(id) || total >= room) return undefined
    const change = (by: 1 | -1): void => {
      holders.add(id, by)
      accounts.add(account_id, by)
      count(by)
    }
    change(1)
    return () => change(-1)
  }
  return {
    takeIfFree,
    take(holder) {
      const giveBack = takeIfFree(holder)
      if (giveBack === undefined) throw refusal('too_many_waits', { retry_after: 3, limit: most.each })
      return giveBack
    },
  }
}

import type { Busy } from '../../store/deliveries.ts'
import type { Slots } from './send-loop.ts'

/** Limits for what one process sends at once. */
export interface SendLimits {
  /** Attempts under way, including connections that outlast their attempt. */
  total: number
  /** Attempts to one host: no receiver can occupy all slots or be flooded by us (T8, T9). */
  perHost: number
  /** Attempts for one account: no account can occupy all slots through many host names of slow receivers (T8). */
  perAccount: number
}

interface Sent {
  host: string
  account_id: string
}

/** Counts the attempts of this process by host and by account; nothing is shared with other processes. */
export function createSendSlots({ total, perHost, perAccount }: SendLimits): Slots<Sent, Busy> {
  const hosts = createCount(perHost)
  const accounts = createCount(perAccount)
  let taken = 0
  return {
    busy: () => ({ busyHosts: hosts.full(), busyAccounts: accounts.full() }),
    room: () => total - taken,
    fits: ({ host, account_id }) => taken < total && hosts.fits(host) && accounts.fits(account_id),
    take({ host, account_id }) {
      taken += 1
      hosts.add(host, 1)
      accounts.add(account_id, 1)
    },
    free({ host, account_id }) {
      taken -= 1
      hosts.add(host, -1)
      accounts.add(account_id, -1)
    },
  }
}

/** Counts occurrences by name, up to a limit for each. */
export function createCount(limit: number) {
  const counts = new Map<string, number>()
  return {
    full: () => [...counts].filter(([, n]) => n >= limit).map(([name]) => name),
    fits: (name: string) => (counts.get(name) ?? 0) < limit,
    add(name: string, change: 1 | -1) {
      const left = (counts.get(name) ?? 0) + change
      if (left === 0) counts.delete(name)
      else counts.set(name, left)
    },
  }
}

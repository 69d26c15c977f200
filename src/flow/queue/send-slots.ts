import type { Busy } from '../../store/delivery/deliveries.ts'
import type { Slots } from './send-loop.ts'

/** Limits for what one process sends at once. */
export interface SendLimits {
  /** Attempts under way, including connections that outlast their attempt. */
  total: number
  /**
   * Attempts to one host: no receiver can occupy all slots or be flooded by us (T8, T9). One more may go to an account that has
   * none there: many accounts share some hosts, and the slow receivers of one keep no other out.
   */
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
  /** The account of each attempt under way, by host. */
  const hosts = new Map<string, string[]>()
  const accounts = createCount(perAccount)
  let taken = 0
  const fitsHost = ({ host, account_id }: Sent): boolean => {
    const there = hosts.get(host) ?? []
    return there.length < perHost || (there.length === perHost && !there.includes(account_id))
  }
  return {
    busy: () => ({
      busyHosts: [...hosts].flatMap(([host, there]) => (there.length > perHost ? [host] : [])),
      busyAccounts: accounts.full(),
      busyPairs: [...hosts].flatMap(([host, there]) =>
        there.length === perHost ? [...new Set(there)].map((account_id) => ({ host, account_id })) : [],
      ),
    }),
    room: () => total - taken,
    fits: (sent) => taken < total && fitsHost(sent) && accounts.fits(sent.account_id),
    take({ host, account_id }) {
      taken += 1
      hosts.set(host, [...(hosts.get(host) ?? []), account_id])
      accounts.add(account_id, 1)
    },
    free({ host, account_id }) {
      taken -= 1
      const there = hosts.get(host) ?? []
      const left = there.toSpliced(there.indexOf(account_id), 1)
      if (left.length === 0) hosts.delete(host)
      else hosts.set(host, left)
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

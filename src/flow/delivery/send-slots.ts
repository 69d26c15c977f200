import type { Delivery } from '../../domain/webhook.ts'

/** How much one process sends at once. */
export interface SendLimits {
  /** Attempts under way in this process, with the connections that outlast them. */
  total: number
  /** Of them, to one host: no receiver can take all workers, nor be flooded by us (T8, T9). */
  perHost: number
  /** Of them, for one account: no account can take all workers by many host names for slow receivers (T8). */
  perAccount: number
}

type Sent = Pick<Delivery, 'host' | 'account_id'>

/** Counts what is under way, by host and by account. */
export interface SendSlots {
  /** What a claim must leave out. */
  busy(): { busyHosts: string[]; busyAccounts: string[] }
  /**
   * Can that many claims be on their way at once? Only if the limits hold whichever hosts and accounts all of them turn out
   * to have.
   */
  roomFor(claims: number): boolean
  take(sent: Sent): void
  free(sent: Sent): void
}

/** Counts for one process; nothing is shared. */
export function createSendSlots({ total, perHost, perAccount }: SendLimits): SendSlots {
  const hosts = createCount(perHost)
  const accounts = createCount(perAccount)
  let taken = 0
  return {
    busy: () => ({ busyHosts: hosts.full(), busyAccounts: accounts.full() }),
    roomFor: (claims) => taken + claims <= total && hosts.roomFor(claims) && accounts.roomFor(claims),
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

function createCount(limit: number) {
  const counts = new Map<string, number>()
  return {
    full: () => [...counts].filter(([, n]) => n >= limit).map(([name]) => name),
    roomFor: (more: number) =>
      more <= limit && [...counts.values()].every((n) => n >= limit || n + more <= limit),
    add(name: string, change: 1 | -1) {
      const left = (counts.get(name) ?? 0) + change
      if (left === 0) counts.delete(name)
      else counts.set(name, left)
    },
  }
}

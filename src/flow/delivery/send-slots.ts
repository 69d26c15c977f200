/** How much one process sends at once. */
export interface SendLimits {
  /** Attempts under way in this process. */
  total: number
  /** Of them, to one host: no receiver can take all workers, nor be flooded by us (T8, T9). */
  perHost: number
}

/** Counts what is under way, by host. */
export interface SendSlots {
  /** Hosts that a claim must leave out. */
  busyHosts(): string[]
  /** Can that many claims be on their way at once? Only if the limits hold whichever hosts all of them turn out to have. */
  roomFor(claims: number): boolean
  take(host: string): void
  free(host: string): void
}

/** Counts for one process; nothing is shared. */
export function createSendSlots({ total, perHost }: SendLimits): SendSlots {
  const hosts = new Map<string, number>()
  let taken = 0
  return {
    busyHosts: () => [...hosts].filter(([, n]) => n >= perHost).map(([host]) => host),
    roomFor: (claims) =>
      taken + claims <= total &&
      claims <= perHost &&
      [...hosts.values()].every((n) => n >= perHost || n + claims <= perHost),
    take(host) {
      taken += 1
      hosts.set(host, (hosts.get(host) ?? 0) + 1)
    },
    free(host) {
      taken -= 1
      const left = (hosts.get(host) ?? 1) - 1
      if (left === 0) hosts.delete(host)
      else hosts.set(host, left)
    },
  }
}

import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'

/** Resolves a host once, to all its addresses. Rejects when there is none; stops asking when the signal aborts. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/** How long to wait before a name server is asked again: a packet was lost, or it never answers for one type of record. */
const ANSWER_MS = 1500

/**
 * Asks the name servers directly, not through the system's resolver: that has four threads, shared with files and hashing, and
 * a caller's silent name server would hold them long after the attempt's deadline (T8). No search list is tried either.
 * @param servers name servers as `address:port`, instead of those of the machine
 */
export function resolveByDns(servers?: readonly string[]): ResolveHost {
  return async (hostname, signal) => {
    const resolver = new Resolver({ timeout: ANSWER_MS, tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
      if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
      return [...found(v4, 4), ...found(v6, 6)]
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

/** Asks the system's resolver, which also knows `localhost` and the hosts file: for receivers on the developer's machine. */
export const resolveBySystem: ResolveHost = (hostname) => lookup(hostname, { all: true })

function found(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}

/** The most addresses of a family that an attempt tries: an answer of hundreds would make it open that many connections (T9). */
const DOORS = 2

/** The guard refused an address. */
export class BlockedAddressError extends Error {
  constructor() {
    super('the address is not a public one')
    this.name = 'BlockedAddressError'
  }
}

/**
 * Makes a `lookup` for one connection. It resolves once, refuses the host if any of its addresses may not be called, and returns
 * only addresses it has checked: neither a later, changed answer nor a bad address among good ones is connected to (T2, T3).
 * Hosts that are IP literals never get here; the caller checks those before it connects.
 */
export function guardedLookup(
  resolve: ResolveHost,
  mayCall: (address: string) => boolean,
  signal: AbortSignal,
): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname, signal).then(
      (addresses) => {
        if (!addresses.every(({ address }) => mayCall(address)))
          return callback(new BlockedAddressError(), '')
        const some = [...ofFamily(addresses, 4), ...ofFamily(addresses, 6)]
        const [first] = some
        if (first === undefined) return callback(new Error('the host has no address'), '')
        if (all === true) return callback(null, some)
        return callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), ''),
    )
  }
}

function ofFamily(addresses: readonly LookupAddress[], family: number): LookupAddress[] {
  return addresses.filter((one) => one.family === family).slice(0, DOORS)
}

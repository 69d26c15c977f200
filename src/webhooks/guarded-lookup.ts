import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { ResolveHost } from './resolve-host.ts'

/** How many addresses of a family one attempt may try: an answer of hundreds would make us knock on hundreds of doors (T9). */
const DOORS = 2

/** The address guard said no. */
export class BlockedAddressError extends Error {
  constructor() {
    super('the address is not a public one')
    this.name = 'BlockedAddressError'
  }
}

/**
 * A `lookup` for one connection. It resolves once, refuses the host when any of its addresses may not be called, and gives out
 * only what it has checked: no answer that changes later, nor a bad one among good ones, is ever connected to (T2, T3).
 * Hosts that are IP literals never get here; whoever connects must check those before.
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

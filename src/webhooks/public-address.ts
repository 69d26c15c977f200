import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** What the IANA IPv4 special-purpose registry keeps off the public internet, multicast and reserved space. */
const V4_REFUSED: readonly [network: string, bits: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // A public number, but inside Azure the host's own wire server.
  ['168.63.129.16', 32],
]

/** Inside 2000::/3: protocol assignments with Teredo and ORCHID, documentation, and 6to4, which hides IPv4 addresses (T5). */
const V6_REFUSED: readonly [network: string, bits: number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const refused = new BlockList()
for (const [network, bits] of V4_REFUSED) refused.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of V6_REFUSED) refused.addSubnet(network, bits, 'ipv6')

/** The only IPv6 space handed out for the public internet: mapped, compatible, NAT64 and local forms all lie outside. */
const global = new BlockList()
global.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an IP address, in the form Node prints, belongs to the public internet (T1, T5). Everything that is not clearly so
 * is not: names, zone ids, IPv4 inside IPv6.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !refused.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return global.check(address, 'ipv6') && !refused.check(address, 'ipv6')
}

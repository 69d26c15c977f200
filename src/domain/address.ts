/**
 * What limits are counted by: an IPv4 address (or any other text) as it is, or the /64 of an IPv6 address, which is what
 * one subscriber holds.
 */
export function limitSubject(address: string): string {
  if (!address.includes(':')) return address
  const bare = address.toLowerCase().split('%')[0] ?? ''
  const [left = [], right = []] = bare.split('::').map(groupsOf)
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return `${[...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

/** Groups of 16 bits; a tail written as IPv4 (RFC 4291 section 2.2) stands for two, which are beyond the /64. */
function groupsOf(text: string): string[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]))
}

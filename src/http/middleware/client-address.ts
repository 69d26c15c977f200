import { isIP } from 'node:net'
import type { Request } from 'express'

/**
 * The caller's address as the configured proxies tell it (`trust proxy`, T65): without port, `unknown` when it is no
 * address at all — a proxy may pass on junk.
 */
export function clientAddress(request: Request): string {
  const text = request.ip ?? ''
  const bare = text.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const mapped = bare.replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, '$1')
  return isIP(mapped) === 0 ? 'unknown' : mapped
}

/** What limits are counted by: an IPv4 address, or the /64 of an IPv6 one, which is what one subscriber holds. */
export function limitSubject(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail = ''] = address.toLowerCase().split('%')[0]?.split('::') ?? []
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  const groups = [...left, ...(address.includes('::') ? zeros : []), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

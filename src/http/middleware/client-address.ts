import { isIP } from 'node:net'
import type { Request } from 'express'

/**
 * Returns the caller's address as the trusted proxies report it (`trust proxy`, T65), without the port; `unknown` when it is
 * not an IP address, since a proxy may pass on junk.
 */
export function clientAddress(request: Request): string {
  const text = request.ip ?? ''
  const bare = text.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const mapped = bare.replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, '$1')
  return isIP(mapped) === 0 ? 'unknown' : mapped
}

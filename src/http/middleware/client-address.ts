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

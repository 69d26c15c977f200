import type { Response } from 'express'

/**
 * Aborted once the client is gone, also when it went before this was asked: `close` is told once, and a slot taken after it
 * would be held until the longest time a wait may take.
 */
export function clientGone(response: Response): AbortSignal {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  if (response.destroyed || response.closed) gone.abort()
  return gone.signal
}

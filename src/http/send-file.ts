import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'

/** A reader who takes nothing for this long is cut off, so that nobody holds a file open for ever (T67). */
const STALL_MS = 60_000

/** What the client is told of the file. */
interface FileFacts {
  /** Media type. */
  type: string
  /** Ours: letters, digits, hyphens and dots. */
  name: string
}

/**
 * Sends a file while it is being made: the next piece is made when the client has taken the one before, and none any more
 * once the client is gone. What fails on the way cuts the connection, so that no part passes for the whole.
 * @throws what `pieces` throws; nothing when the client went away
 */
export async function sendFile(
  response: Response,
  { type, name }: FileFacts,
  pieces: AsyncIterable<string>,
): Promise<void> {
  response.setHeader('Content-Type', type)
  response.setHeader('Content-Disposition', `attachment; filename="${name}"`)
  response.setHeader('X-Accel-Buffering', 'no')
  if (response.req.method === 'HEAD') {
    response.end()
    return
  }
  response.setTimeout(STALL_MS, () => response.destroy())
  try {
    await pipeline(Readable.from(pieces, { highWaterMark: 1 }), response)
  } catch (error) {
    if (!isGone(error)) throw error
  } finally {
    response.setTimeout(0)
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

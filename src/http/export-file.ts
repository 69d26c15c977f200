import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { type Cell, csvLine } from '../domain/csv.ts'
import { Refusal } from '../domain/errors.ts'
import type { HttpDeps } from './http-deps.ts'

/** A file of rows. */
interface FileOfRows<Row> {
  /** Who takes it: of their files so many are open at a time. */
  personId: string
  /** Its name begins with this: letters and hyphens. */
  name: string
  format: 'ndjson' | 'csv'
  /** Of the CSV. */
  columns: readonly string[]
  cells(row: Row): readonly Cell[]
}

/** Sends a file of rows while they are being read. @throws Refusal of the first step; later ones cut the connection */
export async function exportFile<Row>(
  deps: Pick<HttpDeps, 'exportSlots' | 'clock' | 'log'>,
  response: Response,
  file: FileOfRows<Row>,
  batches: AsyncGenerator<readonly Row[], void, undefined>,
): Promise<void> {
  const { format, columns, cells } = file
  const giveBack = deps.exportSlots.take(file.personId)
  try {
    // The first step is where it can be refused: before the answer begins.
    const first = await batches.next()
    const name = `${file.name}-${deps.clock.now().toISOString().slice(0, 10)}.${format}`
    const head = format === 'csv' ? csvLine(columns) : ''
    // JSON has no line breaks outside of texts, and escapes them there.
    const line = (row: Row) => (format === 'csv' ? csvLine(cells(row)) : `${JSON.stringify(row)}\n`)
    response.setHeader('Content-Type', TYPES[format])
    response.setHeader('Content-Disposition', `attachment; filename="${name}"`)
    await sendPieces(response, piecesOf(head, line, first, batches))
  } catch (error) {
    if (!response.headersSent) throw error
    // The connection is cut: no part may pass for the whole.
    if (!(error instanceof Refusal)) deps.log.error({ error }, 'an export failed')
  } finally {
    await batches.return()
    giveBack()
  }
}

/** Each batch as `change` makes it; ends what it reads from. */
export async function* mapBatches<From, To>(
  batches: AsyncGenerator<From, void, undefined>,
  change: (batch: From) => To | Promise<To>,
): AsyncGenerator<To, void, undefined> {
  for await (const batch of batches) yield await change(batch)
}

const TYPES = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
} as const

/** A batch is one piece: few enough to be small, many enough to be quick. */
async function* piecesOf<Row>(
  head: string,
  line: (row: Row) => string,
  first: IteratorResult<readonly Row[], void>,
  rest: AsyncGenerator<readonly Row[], void, undefined>,
): AsyncGenerator<string, void, undefined> {
  yield head
  if (first.done !== true) yield first.value.map(line).join('')
  for await (const rows of rest) yield rows.map(line).join('')
}

/** A reader who takes nothing for this long is cut off, so that no client holds a file open for ever (T67). */
const STALL_MS = 60_000

/**
 * Sends a file while it is being made: the next piece is made when the client has taken the one before, and none any more
 * once the client is gone. What fails on the way cuts the connection, so that no part passes for the whole.
 * @throws what `pieces` throws; nothing when the client went away
 */
async function sendPieces(response: Response, pieces: AsyncIterable<string>): Promise<void> {
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

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { type Cell, csvLine } from '../domain/csv.ts'
import { Refusal } from '../domain/errors.ts'
import type { HttpDeps } from './http-deps.ts'

/** A file of rows. */
interface FileOfRows<Row> {
  /** The person who downloads the file; the number of open downloads per person is limited. */
  person: { id: string; account_id: string }
  /** The beginning of the file's name: letters and hyphens. */
  name: string
  format: 'ndjson' | 'csv'
  /** The header line of the CSV. */
  columns: readonly string[]
  cells(row: Row): readonly Cell[]
}

/** Sends a file of rows while they are being read. @throws Refusal of the first batch; a later one cuts the connection */
export async function exportFile<Row>(
  deps: Pick<HttpDeps, 'exportSlots' | 'clock' | 'log'>,
  response: Response,
  file: FileOfRows<Row>,
  batches: AsyncGenerator<readonly Row[], void, undefined>,
): Promise<void> {
  const { format, columns, cells } = file
  const giveBack = deps.exportSlots.take(file.person)
  try {
    // Reading the first batch may throw a refusal; after it the response begins and can no longer be refused.
    const first = await batches.next()
    const name = `${file.name}-${deps.clock.now().toISOString().slice(0, 10)}.${format}`
    const head = format === 'csv' ? csvLine(columns) : ''
    // `JSON.stringify` writes no line breaks: it escapes those inside strings.
    const line = (row: Row) => (format === 'csv' ? csvLine(cells(row)) : `${JSON.stringify(row)}\n`)
    response.setHeader('Content-Type', TYPES[format])
    response.setHeader('Content-Disposition', `attachment; filename="${name}"`)
    await sendPieces(response, piecesOf(head, line, first, batches))
  } catch (error) {
    if (!response.headersSent) throw error
    // The connection has been cut, so that the client does not take a part for the whole file.
    if (!(error instanceof Refusal)) deps.log.error({ error }, 'an export failed')
  } finally {
    await batches.return()
    giveBack()
  }
}

/** Applies `change` to each batch. Ending this generator early also ends `batches`. */
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

/** Yields one piece per batch: small enough for memory, large enough to be quick. */
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

/** Milliseconds after which a client that reads nothing is disconnected: no client keeps a download open for ever (T67). */
const STALL_MS = 60_000

/**
 * Sends a file while it is being made: each piece is made once the client has read the previous one, and none after the
 * client is gone. An error midway cuts the connection, so that the client does not take a part for the whole file.
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

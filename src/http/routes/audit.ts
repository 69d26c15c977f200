import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Response, Router } from 'express'
import type { AuditRecord } from '../../domain/audit.ts'
import { invalidField, Refusal } from '../../domain/errors.ts'
import {
  type AuditPosition,
  exportAudit,
  isByTime,
  nameParties,
  readAudit,
} from '../../flow/audit/read-audit.ts'
import { auditExportQuery, type auditListAnswer, auditQuery, presentAudit } from '../api/audit.ts'
import { type Endpoint, given, parseBody } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'

/** The audit trail as people may see it: of an account they belong to, page by page or as a file. */
export function auditRoutes(deps: HttpDeps): Router {
  const session = requireSession(deps)
  const router = Router()
  router.get('/', session, limitByPerson(deps, 'person'), list(deps))
  router.get('/export', session, limitByPerson(deps, 'export'), exportAll(deps))
  return router
}

const list: Endpoint<typeof auditListAnswer> = (deps) => async (request, response) => {
  const { cursor, limit, ...filter } = parseBody(auditQuery, request.query)
  const before = cursor === undefined ? undefined : decodeAuditCursor(cursor, isByTime(given(filter)))
  const query = { ...given(filter), ...given({ before }), limit }
  const { user } = sessionOf(response)
  const { records, next, searchedTo } = await readAudit(deps, user, query)
  response.json({
    data: records.flatMap(shown),
    next_cursor: next === undefined ? null : encodeAuditCursor(next),
    searched_to: searchedTo?.toISOString(),
    names: await nameParties(deps, user, records, query.account),
  })
}

const exportAll: Endpoint = (deps) => async (request, response) => {
  const who = sessionOf(response)
  const { format, ...filter } = parseBody(auditExportQuery, request.query)
  const wanted = EXPORT_FORMATS[format]
  const giveBack = deps.exportSlots.take(who.user.id)
  const batches = exportAudit(deps, who, given(filter))
  try {
    // The first step is where it can be refused: before the answer begins.
    const first = await batches.next()
    const name = `audit-${deps.clock.now().toISOString().slice(0, 10)}.${wanted.extension}`
    await sendFile(response, { type: wanted.type, name }, piecesOf(wanted, first, batches))
  } catch (error) {
    if (!response.headersSent) throw error
    // The connection is cut: no part may pass for the whole.
    if (!(error instanceof Refusal)) deps.log.error({ error }, 'an export of the audit trail failed')
  } finally {
    await batches.return()
    giveBack()
  }
}

/** A batch is one piece: few enough to be small, many enough to be quick. */
async function* piecesOf(
  format: ExportFormat,
  first: IteratorResult<AuditRecord[], void>,
  rest: AsyncGenerator<AuditRecord[], void, undefined>,
): AsyncGenerator<string, void, undefined> {
  const write = (records: AuditRecord[]) => records.flatMap(shown).map(format.line).join('')
  yield format.head
  if (first.done !== true) yield write(first.value)
  for await (const records of rest) yield write(records)
}

function shown(record: AuditRecord) {
  return record.entry === undefined ? [] : [presentAudit(record, record.entry)]
}

type Shown = ReturnType<typeof presentAudit>

/** How a trail is written to a file. */
interface ExportFormat {
  type: string
  extension: string
  /** What stands before all entries. */
  head: string
  /** One entry. */
  line(shown: Shown): string
}

const COLUMNS = [
  'seq',
  'id',
  'type',
  'at',
  'actor_kind',
  'actor_id',
  'actor_address',
  'subject',
  'detail',
  'hash',
] as const

function cellsOf({ seq, id, type, at, actor, subject, detail, hash }: Shown): (string | number)[] {
  const { kind, id: actorId = '', address = '' } = actor
  return [seq, id, type, at, kind, actorId, address, subject, JSON.stringify(detail), hash]
}

/** Spreadsheets take a cell that begins like this for a formula, some also in the wide forms of East Asian typing. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** The formats of `GET /api/v1/account/audit/export`. */
const EXPORT_FORMATS: Readonly<Record<'ndjson' | 'csv', ExportFormat>> = {
  ndjson: {
    type: 'application/x-ndjson; charset=utf-8',
    extension: 'ndjson',
    head: '',
    // JSON has no line breaks outside of texts, and escapes them there.
    line: (shown) => `${JSON.stringify(shown)}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    extension: 'csv',
    head: csvLine(COLUMNS),
    line: (shown) => csvLine(cellsOf(shown)),
  },
}

/** One line of a CSV file (RFC 4180). No cell can begin a formula: an apostrophe before it makes a spreadsheet take it as text. */
function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** Numbers of ours are safe as they are. */
function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Position after this record, as opaque text; with its time where records come in the order of time. */
function encodeAuditCursor({ seq, at }: AuditPosition): string {
  const text = at === undefined ? String(seq) : `${seq}.${at.getTime()}`
  return Buffer.from(text).toString('base64url')
}

/**
 * @param byTime do the records come in the order of time?
 * @throws Refusal `invalid_field` for anything `encodeAuditCursor` did not make for such a list
 */
function decodeAuditCursor(text: string, byTime: boolean): AuditPosition {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const [, digits, time] = /^([1-9][0-9]{0,15})(?:\.([0-9]{1,16}))?$/.exec(plain) ?? []
  const at = time === undefined ? {} : { at: new Date(Number(time)) }
  const position = { seq: Number(digits), ...at }
  const known = Number.isSafeInteger(position.seq) && !Number.isNaN(at.at?.getTime() ?? 0)
  if (!known || (time !== undefined) !== byTime || encodeAuditCursor(position) !== text)
    throw invalidField('cursor', 'must be the next_cursor of an earlier page')
  return position
}

/** A reader who takes nothing for this long is cut off, so that no client holds a file open for ever (T67). */
const STALL_MS = 60_000

/** What the client learns about the file. */
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
async function sendFile(
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

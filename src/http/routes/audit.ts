import { type RequestHandler, Router } from 'express'
import type { AuditRecord } from '../../domain/audit.ts'
import { Refusal } from '../../domain/errors.ts'
import { exportAudit } from '../../flow/audit/export-audit.ts'
import { nameParties } from '../../flow/audit/name-parties.ts'
import { readAudit } from '../../flow/audit/read-audit.ts'
import { isByTime } from '../../flow/audit/walk-audit.ts'
import { auditExportQuery, auditQuery, presentAudit } from '../api/audit.ts'
import { decodeAuditCursor, encodeAuditCursor } from '../audit-cursor.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../audit-export.ts'
import type { HttpDeps } from '../http-deps.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { given, parseBody } from '../parse.ts'
import { sendFile } from '../send-file.ts'

/** The audit trail as people may see it: of an account they belong to, page by page or as a file. */
export function auditRoutes(deps: HttpDeps): Router {
  const session = requireSession(deps)
  const router = Router()
  router.get('/', session, limitByPerson(deps, 'person'), list(deps))
  router.get('/export', session, limitByPerson(deps, 'export'), exportAll(deps))
  return router
}

function list(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { cursor, limit, ...filter } = parseBody(auditQuery, request.query)
    const before = cursor === undefined ? undefined : decodeAuditCursor(cursor, isByTime(given(filter)))
    const query = { ...given(filter), ...given({ before }), limit }
    const { user } = sessionOf(response)
    const { records, next } = await readAudit(deps, user, query)
    response.json({
      data: records.flatMap(shown),
      next_cursor: next === undefined ? null : encodeAuditCursor(next),
      names: await nameParties(deps, user, records, query.account),
    })
  }
}

function exportAll(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
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

import { Router } from 'express'
import { type AuditPosition, type AuditRecord, isByTime } from '../../domain/audit.ts'
import { invalidField } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { actionsIn, exportAudit, nameParties, readAudit } from '../../flow/audit/read-audit.ts'
import {
  AUDIT_COLUMNS,
  auditCells,
  auditExportQuery,
  type auditListAnswer,
  auditQuery,
  presentAudit,
  presentExportedAudit,
} from '../api/audit.ts'
import { WRONG_CURSOR } from '../api/shared/input.ts'
import { exportFile, mapBatches } from '../export-file.ts'
import { bindTo, type Endpoint } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseInput } from '../read-input.ts'

/** Creates the routes of the audit trail of an account that the person belongs to: page by page, or as a file. */
export function auditRoutes(deps: HttpDeps): Router {
  const session = requireSession(deps)
  const router = Router()
  const on = bindTo(deps)
  router.get('/', session, limitByPerson(deps, 'person'), on(listTrail))
  router.get('/export', session, limitByPerson(deps, 'export'), on(exportTrail))
  return router
}

const listTrail: Endpoint<typeof auditListAnswer> = async (deps, request, response) => {
  const { cursor, limit, ...filter } = parseInput(auditQuery, request.query)
  const before = cursor === undefined ? undefined : decodeAuditCursor(cursor, isByTime(given(filter)))
  const query = { ...given(filter), ...given({ before }), limit }
  const { user } = sessionOf(response)
  const { records, next, searchedTo } = await readAudit(deps, user, query)
  response.json({
    data: records.flatMap(shown),
    next_cursor: next === undefined ? null : encodeAuditCursor(next),
    searched_to: searchedTo?.toISOString(),
    names: await nameParties(deps, user, records, query.account),
    actions: await actionsIn(deps, user, records, query.account),
  })
}

const exportTrail: Endpoint = async (deps, request, response) => {
  const who = sessionOf(response)
  const { format, ...filter } = parseInput(auditExportQuery, request.query)
  const batches = exportAudit(deps, who, given(filter))
  const rows = mapBatches(batches, async (records) => {
    const names = await nameParties(deps, who.user, records, filter.account)
    const actions = await actionsIn(deps, who.user, records, filter.account)
    return records.flatMap((record) =>
      record.entry === undefined ? [] : [presentExportedAudit(record, record.entry, names, actions)],
    )
  })
  await exportFile(
    deps,
    response,
    { person: who.user, name: 'audit', format, columns: AUDIT_COLUMNS, cells: auditCells },
    rows,
  )
}

function shown(record: AuditRecord) {
  return record.entry === undefined ? [] : [presentAudit(record, record.entry)]
}

/** Encodes the position after this record as an opaque cursor, with the record's time if the list is in the order of time. */
function encodeAuditCursor({ seq, at }: AuditPosition): string {
  const text = at === undefined ? String(seq) : `${seq}.${at.getTime()}`
  return Buffer.from(text).toString('base64url')
}

/**
 * Decodes a cursor that a client sent back.
 * @param byTime whether the list is in the order of time
 * @throws Refusal `invalid_field` for anything `encodeAuditCursor` did not make for such a list
 */
function decodeAuditCursor(text: string, byTime: boolean): AuditPosition {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const [, digits, time] = /^([1-9][0-9]{0,15})(?:\.([0-9]{1,16}))?$/.exec(plain) ?? []
  const at = time === undefined ? {} : { at: new Date(Number(time)) }
  const position = { seq: Number(digits), ...at }
  const known = Number.isSafeInteger(position.seq) && !Number.isNaN(at.at?.getTime() ?? 0)
  if (!known || (time !== undefined) !== byTime || encodeAuditCursor(position) !== text)
    throw invalidField('cursor', WRONG_CURSOR)
  return position
}

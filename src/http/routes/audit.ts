import { type RequestHandler, Router } from 'express'
import { invalidField } from '../../domain/errors.ts'
import { readOwnAudit } from '../../flow/audit/read-own-audit.ts'
import type { HttpDeps } from '../http-deps.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'
import { presentAudit } from '../present-audit.ts'
import { auditQuery } from '../schemas/audit.ts'

/** The owner's view of the audit trail: their own account only. */
export function auditRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.get('/', requireSession(deps), limitByPerson(deps, 'person'), list(deps))
  return router
}

function list(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { type, subject, limit, cursor } = parseBody(auditQuery, request.query)
    const { records, more } = await readOwnAudit(deps, sessionOf(response).user, {
      limit,
      ...(type === undefined ? {} : { type }),
      ...(subject === undefined ? {} : { subject }),
      ...(cursor === undefined ? {} : { before: decodeCursor(cursor) }),
    })
    const last = records.at(-1)
    response.json({
      data: records.flatMap((record) => (record.entry ? presentAudit(record, record.entry) : [])),
      next_cursor: more && last ? encodeCursor(last.seq) : null,
    })
  }
}

function encodeCursor(seq: number): string {
  return Buffer.from(String(seq)).toString('base64url')
}

/** @throws Refusal `invalid_field` for anything `encodeCursor` did not make */
function decodeCursor(text: string): number {
  const digits = Buffer.from(text, 'base64url').toString('latin1')
  const seq = Number(digits)
  if (!/^[1-9][0-9]{0,15}$/.test(digits) || !Number.isSafeInteger(seq) || encodeCursor(seq) !== text)
    throw invalidField('cursor', 'must be the next_cursor of an earlier page')
  return seq
}

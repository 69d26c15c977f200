import { z } from 'zod'
import { checkCallerText, codePointLength } from '../../domain/text.ts'
import { pageQuery } from '../api/shared/input.ts'

const COMMENT_LENGTH = 1_000

const outcome = z.enum(['approved', 'rejected'], { error: 'must be approved or rejected' })

const comment = z
  .string({ error: 'must be a text' })
  .refine((text) => codePointLength(text) <= COMMENT_LENGTH, `must not exceed ${COMMENT_LENGTH} characters`)
  .refine((text) => checkCallerText(text).ok, 'must not hold control or invisible tag characters')
  .nullish()
  .transform((text) => (text === undefined || text === null || text.trim() === '' ? null : text))

/** `GET /api/v1/me/pending`. */
export const pendingQuery = pageQuery(100)

/** `POST /api/v1/approvals/:id/decision/options`. */
export const decisionOptionsBody = z.object({ decision: outcome }).meta({ id: 'DecisionOptionsRequest' })

/** `POST /api/v1/approvals/:id/decision`, without its proof, which has a schema of its own. */
export const decisionBody = z.object({ decision: outcome, comment }).meta({ id: 'DecisionRequest' })

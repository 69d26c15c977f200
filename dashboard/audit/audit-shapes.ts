import type { auditListAnswer } from '../../src/http/api/audit.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

/** `GET /account/audit`. */
export type AuditPage = Answer<typeof auditListAnswer>
export const auditPageShape = answer<AuditPage>()

/** One entry of the audit log. */
export type AuditEntry = AuditPage['data'][number]

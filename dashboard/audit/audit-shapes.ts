import type { auditListAnswer } from '../../src/http/api/audit.ts'
import type { logAnswer } from '../../src/http/api/receipts.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

/** `GET /account/audit`. */
export type AuditPage = Answer<typeof auditListAnswer>
export const auditPageShape = answer<AuditPage>()

/** `GET /.well-known/countersign-log`. */
export type LogKeys = Answer<typeof logAnswer>
export const logKeysShape = answer<LogKeys>()

/** One entry of the audit log. */
export type AuditEntry = AuditPage['data'][number]

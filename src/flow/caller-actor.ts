import type { AuditActor } from '../domain/audit.ts'
import type { Caller } from './ports.ts'

/** The caller as the audit trail names it. */
export function callerActor(caller: Caller): AuditActor {
  const kind = caller.internal_user_id === undefined ? 'api_key' : 'internal'
  return { kind, id: caller.key.id, address: caller.address }
}

import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import type { Bootstrap } from '../../domain/bootstrap.ts'
import { buildEvent, type OutboxEvent } from '../../domain/event.ts'
import { consentedData, consentRequestedData } from '../../domain/event-data.ts'
import { drawId } from '../../domain/identifier.ts'
import type { FlowDeps } from '../deps.ts'

type BootstrapAudit = AuditType & `bootstrap.${string}`

/** An audit entry about a bootstrap request. A decoy's concerns no account: only the operator sees that somebody probes. */
export function bootstrapAudit(
  deps: Pick<FlowDeps, 'random'>,
  type: BootstrapAudit,
  { id, account_id }: Pick<Bootstrap, 'id' | 'account_id'>,
  facts: { actor: AuditActor; at: Date; detail?: NonNullable<AuditEntry['detail']> },
): AuditEntry {
  const { actor, at, detail } = facts
  return {
    eid: drawId(deps, 'evt'),
    type,
    at,
    actor,
    ...(account_id === undefined ? {} : { account_id }),
    subject: id,
    ...(detail === undefined ? {} : { detail }),
  }
}

/** `bootstrap.requested`: tells the owner where to look. Without the matching code, which only the caller may show. */
export function requestedEvent(
  deps: Pick<FlowDeps, 'random' | 'settings'>,
  bootstrap: Bootstrap,
): OutboxEvent {
  return buildEvent({
    id: drawId(deps, 'evt'),
    type: 'bootstrap.requested',
    at: bootstrap.created_at,
    data: consentRequestedData(bootstrap, deps.settings.baseUrl),
  })
}

/** `bootstrap.approved`. */
export function approvedEvent(deps: Pick<FlowDeps, 'random'>, bootstrap: Bootstrap, at: Date): OutboxEvent {
  return buildEvent({
    id: drawId(deps, 'evt'),
    type: 'bootstrap.approved',
    at,
    data: consentedData(bootstrap, at),
  })
}

import type { AuditEntry } from '../../domain/audit.ts'
import type { PushDevice } from '../../domain/push.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { personAudit } from '../people/people-audit.ts'

/** Why a browser is sent nothing more, for the trail. */
type RemovalReason = 'removed' | 'taken_over' | 'enrolled_anew'

/**
 * Sends none of the person's browsers anything more: one of them may be that of whoever slipped in, and would outlive the
 * session it was registered with (T23).
 */
export async function removeAllDevices(
  deps: Pick<FlowDeps, 'pushDevices' | 'random' | 'clock'>,
  person: Pick<User, 'id'>,
  address: string,
  reason: RemovalReason,
): Promise<void> {
  for (const device of await deps.pushDevices.activeOf([person.id]))
    await deps.pushDevices.remove(device.id, person.id, removalEntry(deps, device, { reason, address }))
}

/** Without an address it is the service that removes it. */
export function removalEntry(
  deps: Pick<FlowDeps, 'random' | 'clock'>,
  device: PushDevice,
  { reason, address }: { reason: RemovalReason; address?: string },
): AuditEntry {
  const owner = { id: device.user_id, account_id: device.account_id }
  const detail = { user_id: device.user_id, reason }
  const actor = address === undefined ? { actor: { kind: 'service' as const } } : { address }
  return personAudit(deps, 'push.device_removed', owner, { ...actor, subject: device.id, detail })
}

import { judgeReminder } from '../domain/attention.ts'
import { buildEvent } from '../domain/event.ts'
import { remindedData } from '../domain/event-data.ts'
import { drawId } from '../domain/identifier.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import { auditEntry } from './close-request.ts'
import type { FlowDeps } from './deps.ts'

type RemindDeps = Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes'>

/** As with expiry: so many at a time, and so many batches in one run. */
const BATCH = 32
const BATCHES = 60

/**
 * Takes every automatic reminder that is due, or leaves it out as the rules say (`domain/attention.ts`). Safe to run
 * anywhere, any number of times at once: each reminder is one conditional write.
 * @returns when the next one is due
 */
export async function remindAutomatically(deps: RemindDeps): Promise<Date | undefined> {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const due = await deps.requests.remindable(deps.clock.now(), BATCH)
    await Promise.all(due.map((request) => settle(deps, request)))
    if (due.length < BATCH) break
  }
  return deps.requests.nextReminder()
}

async function settle(deps: RemindDeps, request: ApprovalRequest): Promise<void> {
  const at = deps.clock.now()
  const { remind, next } = judgeReminder(request, at)
  if (!remind) {
    await deps.requests.settleReminder(request.id, request.version, next)
    return
  }
  const event = buildEvent({
    id: drawId(deps, 'evt'),
    type: 'approval.reminded',
    at,
    data: remindedData(request, true),
  })
  const audit = auditEntry(deps, request, 'approval.reminded', { kind: 'service' }, at)
  const reminder = { at, event, audit: { ...audit, detail: { automatic: true } } }
  const reminded = await deps.requests.settleReminder(request.id, request.version, next, reminder)
  if (reminded !== undefined) deps.changes.changed(request.id)
}

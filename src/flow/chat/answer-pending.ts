import type { ApprovalRequest } from '../../domain/request.ts'
import { visibleString } from '../../domain/text.ts'
import type { User } from '../../domain/user.ts'
import { waitingConsents } from '../bootstrap/review-consent.ts'
import type { FlowDeps } from '../deps.ts'
import { waiterFor } from '../people/stand-ins.ts'
import type { ChatAnswer, PendingRow } from './chat-answer.ts'

const MOST_ROWS = 10

/**
 * `pending`: what waits for this person, the oldest first, with the places to decide. Deciding happens there. Of agents that
 * ask for a key of the person's own account it says how many: their names are their own word.
 */
export async function answerPending(
  deps: Pick<FlowDeps, 'requests' | 'users' | 'accounts' | 'clock' | 'bootstraps' | 'settings'>,
  person: User,
): Promise<ChatAnswer> {
  const { requests, settings } = deps
  const { length: agents } = await waitingConsents(deps, person)
  const who = await waiterFor(deps, person)
  const shown = await requests.pendingFor(who, MOST_ROWS)
  const all = shown.length < MOST_ROWS ? shown.length : await requests.countPendingFor(who)
  return {
    kind: 'pending',
    rows: shown.map((request) => rowOf(request, settings.baseUrl)),
    more: Math.max(0, all - shown.length),
    ...(agents === 0 ? {} : { agents }),
    open: `${settings.baseUrl}/`,
  }
}

function rowOf(request: ApprovalRequest, baseUrl: string): PendingRow {
  const { key_name, account_name } = request.requested_by
  return {
    request_id: request.id,
    action: visibleString(request.action),
    requested_by: visibleString(`${key_name} (${account_name})`).replace(/\s+/g, ' '),
    high_impact: request.high_impact,
    expires_at: request.expires_at,
    url: `${baseUrl}/a/${request.id}`,
  }
}

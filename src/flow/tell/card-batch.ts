import type { OutboxEvent } from '../../domain/event.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'

/** The requests that share a card, as one subject of it. */
export interface CardBatch {
  /** `bat_…` */
  id: string
  account_id: string
  /** The sum of theirs: it grows with each of their changes, and with each that joins them. */
  version: number
  /** Pending while any of them is. */
  status: 'pending' | 'over'
  /** When the last of the pending ones expires. */
  expires_at: Date
  /** In the order in which they were asked for; at least one. */
  members: readonly ApprovalRequest[]
}

/** Reads batches by id. A batch of which no request is stored is left out. */
export async function findBatches(
  { requests }: Pick<FlowDeps, 'requests'>,
  ids: readonly string[],
): Promise<Map<string, CardBatch>> {
  const found = ids.length === 0 ? [] : await requests.ofBatches([...new Set(ids)])
  const byId = new Map<string, ApprovalRequest[]>()
  for (const request of found) {
    const id = request.batch?.id ?? ''
    byId.set(id, [...(byId.get(id) ?? []), request])
  }
  return new Map([...byId].map(([id, members]) => [id, batchOf(id, members)]))
}

/** Reads the batches of these requests; most have none, which costs nothing. */
export function batchesOf(
  deps: Pick<FlowDeps, 'requests'>,
  requests: readonly ApprovalRequest[],
): Promise<Map<string, CardBatch>> {
  return findBatches(
    deps,
    requests.flatMap(({ batch }) => batch?.id ?? []),
  )
}

function batchOf(id: string, members: readonly ApprovalRequest[]): CardBatch {
  const open = members.filter(({ status }) => status === 'pending')
  const ends = (open.length > 0 ? open : members).map(({ expires_at }) => expires_at.getTime())
  return {
    id,
    account_id: members[0]?.account_id ?? '',
    version: members.reduce((sum, { version }) => sum + version, 0),
    status: open.length > 0 ? 'pending' : 'over',
    expires_at: new Date(Math.max(...ends)),
    members,
  }
}

/** Milliseconds in which requests are made by one call, and not also by a repeat of a call that was cut off. */
const TOGETHER_MS = 10_000
const MINUTE_MS = 60_000

/**
 * Returns the id of the news that a request joined its batch late: people may have seen the card, or have voted already, or the
 * others were withdrawn, and an edit would notify no one. All that one repeat of the call made have the same id, which is told once.
 * @returns undefined for those that the first notification is about
 */
export function lateId({ created_at }: ApprovalRequest, batch: CardBatch): string | undefined {
  const turn = Math.floor(sinceFirst(batch, created_at) / TOGETHER_MS)
  // When a request was withdrawn is not stored: one message too many is better than none.
  const hadNews = batch.members.some(({ votes, ...one }) =>
    votes.length > 0
      ? votes.some(({ at }) => at <= created_at)
      : one.status !== 'pending' && one.created_at < created_at,
  )
  return turn > 0 || hadNews ? `${batch.id}:late:${turn}` : undefined
}

/**
 * Returns the id of the news that a reminder is to people; an id is told once. The requests of a batch are reminded of each on its
 * own, and mostly all at once: those of one minute are one reminder. Minutes count from the first request, not by the clock:
 * automatic reminders are due at whole minutes after it.
 */
export function reminderId(
  batch: CardBatch | undefined,
  { id, created_at }: Pick<OutboxEvent, 'id' | 'created_at'>,
): string {
  return batch === undefined ? id : `${batch.id}:${Math.floor(sinceFirst(batch, created_at) / MINUTE_MS)}`
}

/** Returns the milliseconds between the first request of a batch and that time. */
function sinceFirst({ members }: CardBatch, at: Date): number {
  return at.getTime() - Math.min(...members.map((one) => one.created_at.getTime()))
}

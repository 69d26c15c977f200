import type { AuditType } from '../../domain/audit.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { quietPeople } from '../attention/quiet-people.ts'
import type { CardNews } from '../chat-ports.ts'
import type { Trace } from '../delivery-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { addressCards } from './address-cards.ts'

type FollowDeps = Pick<FlowDeps, 'requests' | 'accounts' | 'users' | 'cards' | 'chats' | 'clock' | 'random'>

/** What a trace must tell of to concern cards. */
type RequestTrace = Pick<Trace, 'id' | 'events' | 'audit'>

/** A card made with the request shows it as it was made; only these change what it shows. */
const SHOWN: ReadonlySet<AuditType> = new Set([
  'approval.voted',
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.cancelled',
])

/**
 * Tells the cards of traces of requests: makes those of new ones, raises what the others should show, queues what is to be
 * said under them. Takes versions from the stored requests, never from the traces, calls no platform, and may be repeated
 * and interrupted anywhere: cards are unique, versions only rise, replies have ids. Sandbox requests have no cards.
 * @returns whether there may be something to send
 */
export async function followCards(deps: FollowDeps, traces: readonly RequestTrace[]): Promise<boolean> {
  if (deps.chats.length === 0) return false
  const telling = traces.filter((trace) => isMade(trace) || isShown(trace) || repliesOf(trace).length > 0)
  if (telling.length === 0) return false
  const found = await deps.requests.findMany(telling.map(({ id }) => id))
  const live = new Map(found.filter(({ sandbox }) => !sandbox).map((request) => [request.id, request]))
  const foundLive = telling.flatMap((trace) => {
    const request = live.get(trace.id)
    return request === undefined ? [] : [{ trace, request }]
  })
  const about = await Promise.all(
    foundLive.map(async (one) => ({ ...one, quiet: await quietNow(deps, one.trace, one.request) })),
  )
  // Nobody is asked any more about what is over already. A reminder also reaches who had no chat when the request was made.
  const made = about.filter(
    ({ trace, request }) => (isMade(trace) || isReminder(trace)) && request.status === 'pending',
  )
  await deps.cards.insertNew(await addressCards(deps, made))
  const at = deps.clock.now()
  const news = about.map(({ trace, request, quiet }) => ({
    ...newsOf(trace, request, at),
    unreminded: [...quiet.keys()],
  }))
  await deps.cards.follow(news.filter(({ version, replies }) => version !== undefined || replies.length > 0))
  return about.length > 0
}

/** Towards whom the key was silent when it asked, or reminded, last: at another look the answer is the same. */
async function quietNow(
  deps: FollowDeps,
  { events }: RequestTrace,
  request: ApprovalRequest,
): Promise<ReadonlyMap<string, Date>> {
  const asking = events.filter(({ type }) => type === 'approval.created' || type === 'approval.reminded')
  const last = asking.at(-1)
  return last === undefined ? new Map() : quietPeople(deps, request, last.created_at)
}

function newsOf(trace: RequestTrace, request: ApprovalRequest, at: Date): CardNews {
  const version = isShown(trace) ? { version: request.version } : {}
  return { request_id: request.id, ...version, replies: repliesOf(trace), at }
}

function isMade({ events }: RequestTrace): boolean {
  return events.some(({ type }) => type === 'approval.created')
}

function isReminder({ events }: RequestTrace): boolean {
  return events.some(({ type }) => type === 'approval.reminded')
}

function isShown({ audit }: RequestTrace): boolean {
  return audit.some(({ type }) => SHOWN.has(type))
}

function repliesOf({ events }: RequestTrace): CardNews['replies'] {
  return events.flatMap((event): CardNews['replies'] => {
    if (event.type === 'approval.approved' || event.type === 'approval.rejected')
      return [{ id: event.id, kind: 'decided', at: event.created_at }]
    if (event.type !== 'approval.reminded') return []
    const reminder = { id: event.id, kind: 'reminder', at: event.created_at } as const
    return [isAutomatic(event) ? { ...reminder, automatic: true } : reminder]
  })
}

function isAutomatic({ body }: OutboxEvent): boolean {
  return JSON.parse(body).data?.automatic === true
}

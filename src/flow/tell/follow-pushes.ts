import { isWaiting } from '../../domain/bootstrap.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { noticesIn } from '../../domain/factor-notice.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import { NOTICE_PUSH_DAYS, type Push, type PushDevice, type PushSubject } from '../../domain/push.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { OutboxEntry } from '../../ports/ports.ts'
import type { FlowDeps } from '../deps.ts'
import { pendingApprovers } from '../people/delegates.ts'
import { dueNow } from '../queue/send-loop.ts'
import { quietPeople } from '../requests/attention.ts'
import { batchesOf, type CardBatch, joinedLate, reminderId } from './card-batch.ts'

/** The part of an outbox entry that may concern a browser. */
type PushEntry = Pick<OutboxEntry, 'id' | 'account_id' | 'events' | 'audit'>

/** A notification for some people. */
interface News {
  event_id: string
  /** The account it concerns; absent for news about the person's own sign-in. */
  account_id?: string
  about: PushSubject
  expires_at: Date
  people: readonly string[]
  /** A device that needs no notification: the person has just confirmed the change there. */
  except?: string
  /** Approvers for whom the key of this request was silenced at that time get none. */
  quiet?: { request: ApprovalRequest; at: Date }
}

const DAY_MS = 86_400_000

/**
 * Makes the pushes that outbox entries call for: a waiting request, a reminder, an agent that asks for a key, a change of a
 * person's factors. Sends nothing itself, and may be repeated or interrupted anywhere: pushes are unique per event and device.
 * There are none for sandbox requests, for requests that are over, and for approvers for whom the key is silenced.
 * @returns whether there may be pushes to send
 */
export async function followPushes(deps: FlowDeps, entries: readonly PushEntry[]): Promise<boolean> {
  if (deps.pushKey.isOff() || !entries.some(mayPush) || !(await deps.pushDevices.any())) return false
  const news = [
    ...(await newsOfRequests(deps, entries)),
    ...(await newsOfConsents(deps, entries)),
    ...newsOfFactors(deps, entries),
  ]
  const people = [...new Set(news.flatMap((one) => one.people))]
  if (people.length === 0) return false
  const devices = await deps.pushDevices.activeOf(people)
  const pushes = (await Promise.all(news.map((one) => pushesOf(deps, one, devices)))).flat()
  await deps.pushes.insertNew(pushes)
  return pushes.length > 0
}

async function pushesOf(deps: FlowDeps, news: News, devices: readonly PushDevice[]): Promise<Push[]> {
  const { people, except, quiet } = news
  const theirs = devices.filter(({ id, user_id }) => people.includes(user_id) && id !== except)
  if (theirs.length === 0) return []
  const silent = quiet === undefined ? undefined : await quietPeople(deps, quiet.request, quiet.at)
  return theirs.filter(({ user_id }) => !silent?.has(user_id)).map((device) => newPush(deps, device, news))
}

async function newsOfRequests(deps: FlowDeps, entries: readonly PushEntry[]): Promise<News[]> {
  const asking = entries.filter(({ events }) => events.some(({ type }) => KINDS[type] !== undefined))
  if (asking.length === 0) return []
  const found = await deps.requests.findMany(asking.map(({ id }) => id))
  const waiting = new Map(found.filter(isAsked).map((request) => [request.id, request]))
  const batches = await batchesOf(deps, [...waiting.values()])
  const news = await Promise.all(
    asking.map(async ({ id, events }) => {
      const request = waiting.get(id)
      return request === undefined
        ? []
        : newsOfRequest(deps, request, batches.get(request.batch?.id ?? ''), events)
    }),
  )
  return news.flat()
}

/** Checks whether the entry holds anything that pushes are sent for. */
function mayPush({ events, audit }: PushEntry): boolean {
  return (
    events.some(({ type }) => KINDS[type] !== undefined) ||
    audit.some(({ type }) => type === 'bootstrap.requested') ||
    noticesIn(audit).length > 0
  )
}

const KINDS: Partial<Record<string, 'request' | 'reminder'>> = {
  'approval.created': 'request',
  'approval.reminded': 'reminder',
}

function isAsked({ status, sandbox }: ApprovalRequest): boolean {
  return status === 'pending' && !sandbox
}

/** A batch is one notification, with which those that join it late and its reminders are repeated. */
async function newsOfRequest(
  deps: FlowDeps,
  request: ApprovalRequest,
  batch: CardBatch | undefined,
  events: PushEntry['events'],
): Promise<News[]> {
  const { account_id } = request
  const { id: request_id, expires_at } = batch ?? request
  const news = events.map(async (event): Promise<News[]> => {
    const kind = KINDS[event.type]
    if (kind === undefined) return []
    const people = await pendingApprovers(deps, request, deps.clock.now())
    return [
      {
        event_id: pushedAs(request, batch, event),
        account_id,
        about: { kind, request_id },
        expires_at,
        people,
        quiet: { request, at: event.created_at },
      },
    ]
  })
  return (await Promise.all(news)).flat()
}

/** Returns the id under which the event is notified once. */
function pushedAs(request: ApprovalRequest, batch: CardBatch | undefined, event: OutboxEvent): string {
  if (event.type === 'approval.reminded') return reminderId(request, event)
  return batch === undefined || joinedLate(request, batch) ? event.id : batch.id
}

async function newsOfConsents(deps: FlowDeps, entries: readonly PushEntry[]): Promise<News[]> {
  const news = entries.map(async ({ id, account_id, audit }): Promise<News[]> => {
    const asked = audit.find(({ type }) => type === 'bootstrap.requested')
    if (!isId('bst', id) || asked === undefined || account_id === undefined) return []
    const bootstrap = await deps.bootstraps.find(id)
    const account = await deps.accounts.find(account_id)
    if (bootstrap === undefined || account === undefined || !isWaiting(bootstrap, deps.clock.now())) return []
    const about = { kind: 'consent', bootstrap_id: id } as const
    const { expires_at } = bootstrap
    return [{ event_id: asked.eid, account_id, about, expires_at, people: [account.owner_id] }]
  })
  return (await Promise.all(news)).flat()
}

function newsOfFactors({ clock }: FlowDeps, entries: readonly PushEntry[]): News[] {
  const expires_at = new Date(clock.now().getTime() + NOTICE_PUSH_DAYS * DAY_MS)
  return entries.flatMap(({ audit }) =>
    noticesIn(audit).map(({ user_id, event_id, subject, notice }) => {
      const about = { kind: 'notice', notice } as const
      return { event_id, about, expires_at, people: [user_id], except: subject }
    }),
  )
}

/** Makes a push that is due now. */
export function newPush(
  deps: FlowDeps,
  device: Pick<PushDevice, 'id' | 'user_id' | 'account_id' | 'host'>,
  {
    event_id,
    account_id = device.account_id,
    about,
    expires_at,
  }: Pick<News, 'event_id' | 'account_id' | 'about' | 'expires_at'>,
): Push {
  return {
    id: drawId(deps, 'psh'),
    account_id,
    user_id: device.user_id,
    device_id: device.id,
    event_id,
    about,
    host: device.host,
    expires_at,
    ...dueNow(deps.clock.now()),
  }
}

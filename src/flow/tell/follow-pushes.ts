import type { Account } from '../../domain/account.ts'
import { isWaiting } from '../../domain/bootstrap.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { noticesIn } from '../../domain/factor-notice.ts'
import { digestAfter, quietEnd, tells, volumesOf } from '../../domain/hearing.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import {
  mailDeviceId,
  NOTICE_PUSH_DAYS,
  type Push,
  type PushDevice,
  type PushSubject,
} from '../../domain/push.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import type { OutboxEntry } from '../../ports/ports.ts'
import type { FlowDeps } from '../deps.ts'
import { pendingApprovers } from '../people/delegates.ts'
import { dueNow } from '../queue/send-loop.ts'
import { quietPeople } from '../requests/attention.ts'
import { batchesOf, type CardBatch, lateId, reminderId } from './card-batch.ts'

/** The part of an outbox entry that may concern a browser or an address. */
type PushEntry = Pick<OutboxEntry, 'id' | 'account_id' | 'events' | 'audit' | 'toldTo'>

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
  /** Of a request: people hear it by the channels of their choice, and approvers for whom its key was silenced at that time not at all. */
  request?: { request: ApprovalRequest; at: Date }
}

const DAY_MS = 86_400_000

/**
 * Makes the pushes that outbox entries call for: a waiting request, a reminder, an outcome that its caller wants told, an agent that
 * asks for a key, a change of a person's factors, an invitation. Sends nothing itself, and may be repeated or interrupted anywhere:
 * pushes are unique per event and place. There are none for sandbox requests, for requests that are over, and for approvers for
 * whom the key is silenced.
 * @returns whether there may be pushes to send
 */
export async function followPushes(deps: FlowDeps, entries: readonly PushEntry[]): Promise<boolean> {
  const invitations =
    deps.mailer === undefined ? [] : entries.flatMap(({ audit }) => invitationsIn(deps, audit))
  await deps.pushes.insertNew(invitations)
  const told = invitations.length > 0
  if (!entries.some(mayPush) || !(await deps.pushDevices.any())) return told
  const news = [
    ...(await newsOfRequests(deps, entries)),
    ...(await newsOfConsents(deps, entries)),
    ...newsOfFactors(deps, entries),
  ]
  const devices = await placesOf(deps, [...new Set(news.flatMap((one) => one.people))])
  if (devices.length === 0) return told
  const pushes = (await Promise.all(news.map((one) => pushesOf(deps, one, devices)))).flat()
  await deps.pushes.insertNew(pushes)
  return told || pushes.length > 0
}

/** Returns the browsers and addresses of these people to which this service can send. */
export async function placesOf(deps: FlowDeps, people: readonly string[]): Promise<PushDevice[]> {
  const found = await deps.pushDevices.activeOf(people)
  return found.filter(({ kind }) => (kind === 'mail' ? deps.mailer !== undefined : !deps.pushKey.isOff()))
}

async function pushesOf(deps: FlowDeps, news: News, devices: readonly PushDevice[]): Promise<Push[]> {
  const { people, except, request } = news
  const theirs = devices.filter(({ id, user_id }) => people.includes(user_id) && id !== except)
  if (theirs.length === 0) return []
  if (request === undefined) return theirs.map((device) => newPush(deps, device, news))
  const silent = await quietPeople(deps, request.request, request.at)
  const heard = theirs.filter(({ user_id }) => !silent.has(user_id))
  const account = await deps.accounts.find(request.request.account_id)
  const persons = new Map((await deps.users.findMany(people)).map((person) => [person.id, person]))
  return heard.flatMap((device) => {
    const person = persons.get(device.user_id)
    return person === undefined ? [] : heardPush(deps, { device, person, account }, { ...news, ...request })
  })
}

/** Makes the push by which this person hears of a request there: now, after their quiet hours, in a digest, or none. */
function heardPush(
  deps: FlowDeps,
  { device, person, account }: { device: PushDevice; person: User; account: Account | undefined },
  { request, at, ...news }: Omit<News, 'request'> & { request: ApprovalRequest; at: Date },
): Push[] {
  const volume = volumesOf(person, account)[device.kind ?? 'browser']
  const told = news.about.kind === 'outcome' && volume === 'digest' ? 'now' : tells(volume, request)
  if (told === 'never') return []
  const due = told === 'digest' ? digestAfter(at) : at
  const still = quietEnd(person.hearing?.quiet_hours, due)
  // One message after the quiet hours says it all: the request's own.
  if (still !== undefined && news.about.kind === 'reminder') return []
  const next_at = still ?? due
  if (told === 'digest') return [digestPush(deps, device, next_at)]
  if (still === undefined) return [newPush(deps, device, news)]
  return next_at < news.expires_at ? [{ ...newPush(deps, device, news), next_at }] : []
}

/** Makes the one mail of that hour about all that waits; the requests that others would have told are read when it is sent. */
function digestPush(deps: FlowDeps, device: PushDevice, next_at: Date): Push {
  const expires_at = new Date(next_at.getTime() + DIGEST_MS)
  const event_id = `digest ${next_at.toISOString()}`
  return { ...newPush(deps, device, { event_id, about: { kind: 'digest' }, expires_at }), next_at }
}

/** How long a digest is still worth sending. */
const DIGEST_MS = 3_600_000

/** Makes the mails to people who are invited, at most one a day each: anyone may invite any address (T91). */
function invitationsIn(deps: FlowDeps, audit: PushEntry['audit']): Push[] {
  return audit.flatMap(({ type, at, account_id, subject: user_id }) => {
    if (type !== 'member.invited' || account_id === undefined) return []
    const device = { id: mailDeviceId(user_id), user_id, account_id, host: String(deps.mailer?.host) }
    const event_id = `invitation ${at.toISOString().slice(0, 10)}`
    const expires_at = new Date(at.getTime() + DAY_MS)
    return [newPush(deps, device, { event_id, account_id, about: { kind: 'invitation' }, expires_at })]
  })
}

async function newsOfRequests(deps: FlowDeps, entries: readonly PushEntry[]): Promise<News[]> {
  const asking = entries.filter(tellsOfRequest)
  if (asking.length === 0) return []
  const found = await deps.requests.findMany(asking.map(({ id }) => id))
  const live = new Map(found.filter(({ sandbox }) => !sandbox).map((request) => [request.id, request]))
  const batches = await batchesOf(
    deps,
    [...live.values()].filter(({ status }) => status === 'pending'),
  )
  const news = await Promise.all(
    asking.map(async ({ id, events }) => {
      const request = live.get(id)
      return request === undefined
        ? []
        : newsOfRequest(deps, request, batches.get(request.batch?.id ?? ''), events)
    }),
  )
  return news.flat()
}

/** An outcome concerns nobody here but the member whom the request names. */
function tellsOfRequest({ events, toldTo }: PushEntry): boolean {
  return events.some(({ type }) => {
    const kind = KINDS[type]
    return kind !== undefined && (kind !== 'outcome' || toldTo !== undefined)
  })
}

/** Checks whether the entry holds anything that pushes are sent for. */
function mayPush(entry: PushEntry): boolean {
  const { audit } = entry
  return (
    tellsOfRequest(entry) ||
    audit.some(({ type }) => type === 'bootstrap.requested') ||
    pushNotices(audit).length > 0
  )
}

const KINDS: Partial<Record<string, 'request' | 'reminder' | 'outcome'>> = {
  'approval.created': 'request',
  'approval.reminded': 'reminder',
  'approval.approved': 'outcome',
  'approval.rejected': 'outcome',
  'approval.expired': 'outcome',
}

/** A batch is one notification, with which those that join it late and its reminders are repeated. */
async function newsOfRequest(
  deps: FlowDeps,
  request: ApprovalRequest,
  batch: CardBatch | undefined,
  events: PushEntry['events'],
): Promise<News[]> {
  const { account_id } = request
  const news = events.map(async (event): Promise<News[]> => {
    const kind = KINDS[event.type]
    if (kind === undefined || (request.status === 'pending') === (kind === 'outcome')) return []
    const asked = { request, at: event.created_at }
    if (kind === 'outcome') return outcomeOf(request, event, asked)
    const { id: request_id, expires_at } = batch ?? request
    const people = await pendingApprovers(deps, request, deps.clock.now())
    return [
      {
        event_id: pushedAs(request, batch, event),
        account_id,
        about: { kind, request_id },
        expires_at,
        people,
        request: asked,
      },
    ]
  })
  return (await Promise.all(news)).flat()
}

/** Each request of a batch has an outcome of its own. */
function outcomeOf(
  { id: request_id, account_id, notify }: ApprovalRequest,
  event: OutboxEvent,
  request: { request: ApprovalRequest; at: Date },
): News[] {
  if (notify?.kind !== 'member') return []
  const expires_at = new Date(event.created_at.getTime() + DAY_MS)
  const about = { kind: 'outcome', request_id } as const
  return [{ event_id: event.id, account_id, about, expires_at, people: [notify.user_id], request }]
}

/** Returns the id under which the event is notified once. */
function pushedAs(request: ApprovalRequest, batch: CardBatch | undefined, event: OutboxEvent): string {
  if (event.type === 'approval.reminded') return reminderId(batch, event)
  return batch === undefined ? event.id : (lateId(request, batch) ?? batch.id)
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
    pushNotices(audit).map(({ user_id, event_id, subject, notice }) => {
      const about = { kind: 'notice', notice } as const
      return { event_id, about, expires_at, people: [user_id], except: subject }
    }),
  )
}

/** Browsers and addresses have a test of their own (`testPushDevice`). */
function pushNotices(audit: PushEntry['audit']) {
  return noticesIn(audit).filter(({ notice }) => notice.type !== 'notifications.tested')
}

/** Makes a push that is due now. Pairs of event and place are unique, so an event's id need not be. */
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

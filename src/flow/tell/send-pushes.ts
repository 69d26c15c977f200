import { roleIn } from '../../domain/account.ts'
import { type AuditEntry, drawEntry } from '../../domain/audit.ts'
import { isWaiting } from '../../domain/bootstrap.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { drawMail } from '../../domain/mail.ts'
import {
  batchNews,
  consentNews,
  DIGEST_MOST,
  digestNews,
  drawPayload,
  factorNews,
  invitationNews,
  mailDeviceId,
  type News,
  outcomeNews,
  type Push,
  type PushDevice,
  requestNews,
  TEST_NEWS,
} from '../../domain/push.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { type PushStep, pushStepAfter } from '../../domain/retry.ts'
import type { Attempt } from '../../domain/webhook.ts'
import type { AttemptOutcome } from '../../ports/ports.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { Busy } from '../../store/delivery/deliveries.ts'
import type { FlowDeps } from '../deps.ts'
import { pendingApprovers } from '../people/delegates.ts'
import { attemptOnce } from '../queue/attempt-once.ts'
import { createSendLoop, holding, type SendLoop } from '../queue/send-loop.ts'
import { createSendSlots, type SendLimits } from '../queue/send-slots.ts'
import { pendingForPerson } from '../requests/review-request.ts'
import { openSubscription } from './push-secrets.ts'
import { findSubject } from './show-card.ts'

/** Creates the loop that sends pushes that are due, with the limits of deliveries: no push service is flooded (T9). */
export function createPushLoop(deps: FlowDeps, limits: SendLimits & { leaseMs: number }): SendLoop<Push> {
  return createSendLoop<Push, Busy>(
    {
      name: { one: 'push', many: 'pushes' },
      slots: createSendSlots(limits),
      leaseMs: limits.leaseMs,
      claim: (query) => deps.pushes.claim(query),
      async attempt({ record, interrupted }, sent) {
        const pusher = { ...deps.pusher, send: holding(deps.pusher, sent) }
        return (await attemptPush({ ...deps, pusher }, record, interrupted)).next_at
      },
    },
    deps,
  )
}

const GIVEN_UP = { state: 'dead', gone: false } as const satisfies PushStep

/** Length of a topic that push services accept (RFC 8030 §5.4): 32 characters of base64url, which includes hex. */
const TOPIC_LENGTH = 32

/** The longest time that push services keep a message, in seconds: four weeks. */
const LONGEST_TTL = 28 * 86_400

/**
 * Makes exactly one attempt at a push that this process has claimed. The text is drawn from the current state, so nothing goes out
 * about a request that was decided meanwhile. A crash after the push service took it and before the result is written sends it
 * again under the same tag and topic: the browser shows one notification.
 * @returns the state, and when it is due again, if it is
 */
export function attemptPush(
  deps: FlowDeps,
  push: Push,
  interrupted = false,
): Promise<{ state: string; next_at?: Date }> {
  return attemptOnce<PushStep>(deps, push, interrupted, {
    async prepare(at) {
      const device = await deps.pushDevices.find(push.device_id)
      const wanted = push.expires_at > at && maySend(device, push)
      const drawn = wanted ? await drawNews(deps, push) : undefined
      return drawn && (() => send(deps, push, device, drawn, at))
    },
    stepAfter: (result, tries) => stepAfter(deps, push, tries, result),
    tell: (step, at, attempt) => ({
      audit: attempt ? auditOf(deps, push, step.state, attempt.outcome, at) : [],
    }),
    async finish(result) {
      const kept = await deps.pushes.finish(push.id, push.fence, result)
      if (!kept) deps.log.warn({ push_id: push.id }, 'a push was taken over while it was being sent')
      return kept
    },
    async settled(step, _attempt, at) {
      if (step.state === 'sent') await deps.pushDevices.noteSent(push.device_id, at)
      if (step.state === 'dead' && step.gone) await forget(deps, push, at)
    },
  })
}

/**
 * Checks the place: a browser that another person has taken over since must not show this person's requests. An invitation goes
 * to an address that nobody has confirmed, but not to one that bounced.
 */
function maySend(device: PushDevice | undefined, { user_id, about }: Push): boolean {
  if (about.kind === 'invitation') return device?.bounced_at === undefined
  return device?.state === 'active' && device.user_id === user_id
}

async function send(
  deps: FlowDeps,
  push: Push,
  device: PushDevice | undefined,
  news: News,
  at: Date,
): Promise<AttemptOutcome> {
  if (push.device_id === mailDeviceId(push.user_id)) return sendMail(deps, push, news, at)
  if (device === undefined || deps.pushKey.isOff()) return { outcome: 'unsigned', duration_ms: 0 }
  const subscription = openSubscription(deps.vault, device)
  if (subscription === undefined) {
    deps.log.error({ device_id: device.id }, 'decrypting the subscription of a browser failed; remove it')
    return { outcome: 'unsigned', duration_ms: 0 }
  }
  const left = Math.floor((push.expires_at.getTime() - at.getTime()) / 1000)
  return deps.pusher.send({
    subscription,
    keys: deps.pushKey.current(),
    payload: JSON.stringify(drawPayload(news)),
    ttl_seconds: Math.min(LONGEST_TTL, left),
    // A hash, since the ids of requests must not reach the push service.
    topic: sha256Hex(news.tag).slice(0, TOPIC_LENGTH),
    at,
  })
}

/** The address is read now, and goes nowhere but to the relay. */
async function sendMail(deps: FlowDeps, push: Push, news: News, at: Date): Promise<AttemptOutcome> {
  const person = await deps.users.find(push.user_id)
  if (deps.mailer === undefined || person === undefined) return { outcome: 'unsigned', duration_ms: 0 }
  const mail = drawMail(news, deps.settings.baseUrl)
  const id = sha256Hex(`${push.event_id} ${push.device_id}`).slice(0, TOPIC_LENGTH)
  const thread = sha256Hex(`${news.tag} ${push.device_id}`).slice(0, TOPIC_LENGTH)
  return deps.mailer.send({ to: person.email, mail, id, thread, at })
}

/** Returns the next step. A test is tried once: the person who asked for it sees the outcome. */
function stepAfter({ clock }: FlowDeps, push: Push, tries: number, result: AttemptOutcome): PushStep {
  const left = push.expires_at.getTime() - clock.now().getTime()
  const step = pushStepAfter(result.outcome, tries, left, result.retry_after)
  return step.state === 'due' && push.about.kind === 'test' ? GIVEN_UP : step
}

function auditOf(
  deps: FlowDeps,
  push: Push,
  state: string,
  outcome: Attempt['outcome'],
  at: Date,
): AuditEntry[] {
  // The person who asked for a test sees its outcome.
  if (state === 'due' || push.about.kind === 'test') return []
  const { id, account_id, about, user_id, device_id } = push
  const type = state === 'sent' ? 'push.sent' : 'push.failed'
  const subject = 'request_id' in about ? about.request_id : undefined
  const request = given(isId('bat', subject) ? { batch_id: subject } : { request_id: subject })
  const detail = { about: about.kind, ...request, recipient: user_id, device: device_id, outcome }
  return [drawEntry(deps, { type, at, actor: { kind: 'service' }, account_id, subject: id, detail })]
}

/**
 * Removes a browser whose subscription the push service no longer knows (permission was withdrawn, or the browser is gone), or an
 * address that the relay refused. Of the address the person is told everywhere else.
 */
async function forget(deps: FlowDeps, push: Push, at: Date): Promise<void> {
  const { device_id, user_id } = push
  const device = await deps.pushDevices.find(device_id)
  if (device === undefined) return
  const removed = drawEntry(deps, {
    type: 'push.device_removed',
    at,
    actor: { kind: 'service' },
    account_id: device.account_id,
    subject: device_id,
    detail: { user_id, reason: device.kind === 'mail' ? 'bounced' : 'gone' },
  })
  const bounced = device.kind === 'mail' ? { bounced_at: at } : {}
  await deps.pushDevices.remove(device_id, user_id, removed, bounced)
}

/**
 * Draws what the push says from the current state.
 * @returns undefined when there is no reason left to tell: decided, expired, already voted, no longer theirs to decide or to hear
 */
export async function drawNews(deps: FlowDeps, push: Push): Promise<News | undefined> {
  const { about, event_id, user_id } = push
  const now = deps.clock.now()
  switch (about.kind) {
    case 'test':
      return TEST_NEWS
    case 'notice':
      return factorNews(about.notice, event_id)
    case 'consent': {
      const bootstrap = await deps.bootstraps.find(about.bootstrap_id)
      if (bootstrap === undefined || !isWaiting(bootstrap, now)) return undefined
      return consentNews(bootstrap)
    }
    case 'request':
    case 'reminder': {
      const subject = await findSubject(deps, about)
      if (subject === undefined || 'client_name' in subject) return undefined
      const isBatch = 'members' in subject
      const mine = await waitingFor(deps, user_id, isBatch ? subject.members : [subject], now)
      const [first] = mine
      if (first === undefined) return undefined
      return isBatch ? batchNews(subject.id, mine, about.kind) : requestNews(first, about.kind)
    }
    case 'outcome':
      return drawOutcome(deps, about.request_id, user_id)
    case 'digest':
      return drawDigest(deps, user_id, event_id)
    case 'invitation':
      return drawInvitation(deps, push)
  }
}

/** Returns those of these requests, which have the same approvers, that wait for the person. */
async function waitingFor(
  deps: FlowDeps,
  userId: string,
  requests: readonly ApprovalRequest[],
  now: Date,
): Promise<ApprovalRequest[]> {
  // Whom it waits for follows from the votes, and few of fifty have any.
  const known = new Map<string, boolean>()
  const waiting: ApprovalRequest[] = []
  for (const request of requests) {
    if (request.status !== 'pending' || request.expires_at <= now) continue
    const voted = request.votes.map(({ user_id, on_behalf_of }) => `${user_id} ${on_behalf_of}`).join()
    const mine = known.get(voted) ?? (await pendingApprovers(deps, request, now)).includes(userId)
    known.set(voted, mine)
    if (mine) waiting.push(request)
  }
  return waiting
}

/** The state of the account counts as it is now: a member who left is told nothing (T89). */
async function drawOutcome(deps: FlowDeps, requestId: string, userId: string): Promise<News | undefined> {
  const request = await deps.requests.find(requestId)
  if (request === undefined || request.status === 'pending') return undefined
  const account = await deps.accounts.find(request.account_id)
  return account !== undefined && roleIn(account, userId) !== undefined ? outcomeNews(request) : undefined
}

async function drawDigest(deps: FlowDeps, userId: string, eventId: string): Promise<News | undefined> {
  const person = await deps.users.find(userId)
  if (person === undefined) return undefined
  const { waiting } = await pendingForPerson(deps, person, { limit: DIGEST_MOST })
  const requests = waiting.map(({ request }) => request)
  return requests.length === 0 ? undefined : digestNews(requests, eventId)
}

async function drawInvitation(
  deps: FlowDeps,
  { account_id, user_id, event_id }: Push,
): Promise<News | undefined> {
  const account = await deps.accounts.find(account_id)
  const member = account?.members.find((one) => one.user_id === user_id && one.state === 'invited')
  if (account === undefined || member === undefined) return undefined
  const inviter = (await deps.users.find(account.owner_id))?.name ?? account.name
  return invitationNews(account, { inviter, role: member.role, tag: event_id })
}

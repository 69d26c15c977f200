import { type AuditEntry, type AuditType, drawEntry } from '../../../domain/audit.ts'
import { type CardAnswer, type CardStep, cardStepAfter, PASSING_TRIES } from '../../../domain/card-state.ts'
import type { Card, CardAttempt } from '../../../domain/chat.ts'
import { MAY_BE_OF_CHANNEL } from '../../../domain/chat-trouble.ts'
import { given } from '../../../domain/given.ts'
import { isId } from '../../../domain/identifier.ts'
import type { ChatOutcome, ChatPort } from '../../../ports/ports.ts'
import type { CardResult, ClaimedCard } from '../../../store/chat/cards.ts'
import type { FlowDeps } from '../../deps.ts'
import type { TroubleWatch } from '../trouble.ts'
import type { Lookup } from './find-addresses.ts'
import type { OutageWatch } from './outage.ts'

/** A call that the platform did not accept, and the workspace that it went to. */
export type Failed = Omit<ChatOutcome<never> & { ok: false }, 'outcome'> & {
  outcome: Exclude<CardAttempt['outcome'], 'accepted'>
  tenant?: string
}

/** The result of an attempt. `next_at`: the next attempt, while it stays due; `patience`: the platform asked to wait. */
export interface CardReport {
  state: Card['state']
  next_at: Date
  patience: boolean
}

/** How far an attempt has come. */
interface CardProgress
  extends Omit<CardResult, 'state' | 'next_at' | 'again_at' | 'news' | 'tries' | 'gone' | 'audit'> {
  failure?: Failed
  /** A workspace refused the app; the card may have been posted in another one. */
  refused?: Failed
  /** It will not be tried again. */
  exhausted?: true
}

/** Begins an attempt at a claimed card; notes one before it that never reported back. */
export function beginAttempt(
  deps: AttemptDeps,
  chat: ChatPort,
  { record: card, interrupted }: ClaimedCard,
): Job {
  const { shown, message } = card
  const progress: CardProgress = { shown, said: [], dropped: [], attempts: [], ...given({ message }) }
  const job = { deps, chat, card, progress, leaseEnds: card.next_at }
  const edits = shown < card.wanted || card.stale ? 'update' : 'reply'
  if (interrupted) note(job, message === undefined ? 'post' : edits, 'interrupted', 0)
  return job
}

/**
 * Records the result of an attempt in one write. A process that lost the claim meanwhile may have edited the message to an older
 * version than the new holder did, so the card is then edited once more.
 * @returns undefined when the claim was lost
 */
export async function recordCard(job: Job, step: CardStep): Promise<CardReport | undefined> {
  const { deps, card, progress } = job
  const now = deps.clock.now()
  const { shown, message, posted_at, perhaps_posted, stale, said, dropped, attempts } = progress
  const { tries, delay_ms, again_ms, ask_patience: patience } = step
  const next_at = new Date(now.getTime() + delay_ms)
  const again_at = new Date(now.getTime() + again_ms)
  const state = await deps.cards.finish(card.id, card.fence, {
    state: step.state,
    next_at,
    again_at,
    tries,
    news: card.news,
    shown,
    ...given({ perhaps_posted, stale, message, posted_at }),
    ...(card.message !== undefined && message === undefined ? { gone: true } : {}),
    said,
    dropped,
    attempts,
    audit: auditOf(job, now),
  })
  if (state === undefined) {
    deps.log.warn({ card_id: card.id }, 'a card was taken over while it was being sent')
    if (attempts.some(({ what }) => what === 'update')) await deps.cards.doubt(card.id, now)
    return undefined
  }
  await noteOutage(job, step)
  return { state, next_at: state === step.state ? next_at : again_at, patience }
}

/** Notes whether the platform answered: a refusal of this chat is an answer, too. */
async function noteOutage({ deps, card, progress }: Job, step: CardStep): Promise<void> {
  const { attempts, failure, message } = progress
  const { outages } = deps
  if (attempts.some(({ outcome }) => ANSWERED.has(outcome)))
    await outages.answered(card, failure?.tenant ?? message?.tenant)
  else if (step.state !== 'due') await outages.gone(card)
}

const ANSWERED: ReadonlySet<CardAttempt['outcome']> = new Set(['accepted', 'unreachable'])

/** Makes the audit entries: first message, recipient not found, given up. They never say where on the platform a person is. */
function auditOf({ deps, card, progress }: Job, at: Date): AuditEntry[] {
  const entry = (type: AuditType): AuditEntry => {
    const { account_id, request_id, platform, recipient } = card
    const to = recipient.kind === 'channel' ? 'channel' : recipient.user_id
    const about = isId('bat', request_id) ? { batch_id: request_id } : { request_id }
    const detail = { ...about, platform, recipient: to }
    const actor = { kind: 'service' } as const
    return drawEntry(deps, { type, at, actor, account_id, subject: card.id, detail })
  }
  const refused = progress.attempts.findLast(({ what }) => what !== 'reply')?.outcome === 'unreachable'
  const lost = progress.failure !== undefined && !progress.exhausted && refused && !wasRefused(card)
  return [
    ...(progress.posted_at ? [entry('card.posted')] : []),
    ...(lost ? [entry('card.unreachable')] : []),
    ...(progress.exhausted ? [entry('card.exhausted')] : []),
  ]
}

function wasRefused({ attempts }: Card): boolean {
  return attempts.at(-1)?.outcome === 'unreachable'
}

/** Returns how often in a row a card was tried again after a refusal that may pass. */
function refusalsOf(card: Card): number {
  return wasRefused(card) ? card.tries : 0
}

/** Returns the step after a call that was not accepted. `misleads`: the message still asks about a request that is over. */
export function stepAfter({ deps, card }: Job, failure: Failed, misleads = false): CardStep {
  const { outcome, retry_after: retryAfter, passing, tenant } = failure
  const luck = (deps.random.bytes(1)[0] ?? 0) / 255
  const tries = outcome === 'unreachable' ? refusalsOf(card) : card.tries
  const step = cardStepAfter(outcome, { tries, retryAfter, passing, misleads, luck })
  return outcome === 'failed' || outcome === 'timeout' ? deps.outages.failed(card, tenant, step) : step
}

export type AttemptDeps = FlowDeps & { outages: OutageWatch; lookup: Lookup; troubles: TroubleWatch }

/** A card that this process has claimed. */
export interface Job {
  deps: AttemptDeps
  chat: ChatPort
  card: Card
  progress: CardProgress
  /** Extended while calls are made. */
  leaseEnds: Date
}

/** The most milliseconds that a call may take, including its wait for a turn and the write afterwards. */
const CALL_MS = 20_000

/** Milliseconds for which the cards of a killed process wait; a process that needs longer extends its lease. */
export const CARD_LEASE_MS = CALL_MS + 5_000

export type Answer<T> = (ChatOutcome<T> & { ok: true }) | Failed

/**
 * Makes a call. The lease is extended first if the call could outlive it and run beside that of another process. A refusal that
 * did not pass in all the time it was given is final.
 */
export async function call<T>(job: Job, attempt: () => Promise<ChatOutcome<T>>): Promise<Answer<T>> {
  if (isLate(job) && (!(await extend(job)) || isLate(job)))
    return { ok: false, outcome: 'interrupted', duration_ms: 0 }
  const answer = await attempt()
  if (answer.ok || refusalsOf(job.card) < PASSING_TRIES) return answer
  const { passing: _, ...final } = answer
  return final
}

function isLate({ deps, leaseEnds }: Job): boolean {
  return deps.clock.now().getTime() + CALL_MS > leaseEnds.getTime()
}

/** Extends the lease. If the store cannot, the calls made so far are still recorded, or they would be repeated. */
async function extend(job: Job): Promise<boolean> {
  const { deps, card } = job
  job.leaseEnds = new Date(deps.clock.now().getTime() + CARD_LEASE_MS)
  return deps.cards.extend(card.id, card.fence, job.leaseEnds).catch((error: unknown) => {
    deps.log.warn({ error, card_id: card.id }, 'renewing the lease of a card failed')
    return false
  })
}

/** Notes a message that shows the version. `overtaken`: an earlier edit with a lost answer may be applied after this one. */
export function accept(job: Job, what: Call, version: number, ms: number, overtaken = false): CardAnswer {
  const { progress } = job
  progress.shown = version
  progress.stale = overtaken
  delete progress.failure
  note(job, what, 'accepted', ms)
  return 'accepted'
}

export function fail(job: Job, what: Call, failure: Failed): CardAnswer {
  job.progress.failure = failure
  note(job, what, failure.outcome, failure.duration_ms)
  return cardAnswer(failure)
}

/** Returns the class of an answer by which the table of `domain/card-state.ts` goes on. */
export function cardAnswer(answer: Answer<unknown>): CardAnswer {
  if (answer.ok) return 'accepted'
  if (answer.perhaps) return 'lost'
  if (answer.outcome !== 'unreachable') return 'failed'
  return answer.gone ? 'gone' : answer.passing ? 'passing' : 'refused'
}

type Call = CardAttempt['what']

export function note(job: Job, what: Call, outcome: CardAttempt['outcome'], duration_ms: number): void {
  job.progress.attempts.push({ at: job.deps.clock.now(), what, outcome, duration_ms })
}

/**
 * Notes, for the workspace or channel rather than for this card, whether it accepts messages from the app. An edit tells
 * nothing about a channel: edits may be refused where posts are accepted, and the reverse.
 */
export async function notePlace({ deps, card, progress }: Job): Promise<void> {
  const { failure, refused, message, attempts } = progress
  if (refused?.tenant !== undefined && refused !== failure)
    await deps.troubles.failed(card, { tenant: refused.tenant }, refused.code ?? 'unknown')
  const { tenant, code = 'unknown' } = failure ?? {}
  const channel = card.recipient.kind === 'channel' ? { channel: card.recipient.channel } : {}
  // Of the channel alone: people's cards in the same workspace may be accepted, and would end a trouble of the whole.
  const here = failure?.outcome === 'unreachable' || ('channel' in channel && MAY_BE_OF_CHANNEL.has(code))
  if (failure?.outcome === 'unavailable' && tenant !== undefined && !here)
    await deps.troubles.failed(card, { tenant }, code)
  else if (here && tenant !== undefined && message === undefined && !failure?.gone) {
    if ('channel' in channel) await deps.troubles.failed(card, { tenant, ...channel }, code)
  } else if (message !== undefined && attempts.some(({ outcome }) => outcome === 'accepted')) {
    const posted = attempts.some(({ what, outcome }) => what !== 'update' && outcome === 'accepted')
    await deps.troubles.worked(card, { tenant: message.tenant, ...(posted ? channel : {}) })
  }
}

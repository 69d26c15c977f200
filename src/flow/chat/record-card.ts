import type { AuditEntry, AuditType } from '../../domain/audit.ts'
import type { Card, CardAttempt } from '../../domain/chat.ts'
import { type CardStep, cardStepAfter } from '../../domain/chat-retry.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import { RETRY_DELAYS_MS } from '../../domain/retry.ts'
import type { CardResult } from '../../store/cards.ts'
import type { FlowDeps } from '../deps.ts'
import type { ChatOutcome, ChatPort } from '../ports.ts'
import type { Lookup } from './find-addresses.ts'
import type { TroubleWatch } from './trouble.ts'

/** A call that was not accepted. */
export interface CardFailure {
  outcome: Exclude<CardAttempt['outcome'], 'accepted'>
  /** Whole seconds the platform asked for. */
  retry_after?: number
  /** The platform's own code. */
  code?: string
  /** Where the call went. */
  tenant?: string
  /** The message is not there any more. */
  gone?: true
}

/** The result of an attempt. `next_at`: when, while it stays due; `patience`: the platform asked for it. */
export interface CardReport {
  state: Card['state']
  next_at: Date
  patience: boolean
}

/** How far an attempt has come. */
export interface CardProgress
  extends Omit<CardResult, 'state' | 'next_at' | 'again_at' | 'news' | 'tries' | 'recheck' | 'audit'> {
  /** An earlier edit, whose answer was lost, may land after this one. */
  overtaken?: true
  failure?: CardFailure
}

/** It rests. `exhausted`: it was given up. */
type Rest = 'idle' | 'unreachable' | 'exhausted'

/**
 * The one write that records the result of an attempt. A process that lost the claim meanwhile may have edited the message to an older
 * version than the new holder did, so the card is edited once more.
 * @returns undefined when the claim was lost
 */
export async function recordCard(
  deps: FlowDeps,
  card: Card,
  progress: CardProgress,
  step: Rest | CardStep,
): Promise<CardReport | undefined> {
  const now = deps.clock.now()
  const { shown, message, gone, posted_at, perhaps_posted, said, dropped, attempts, overtaken } = progress
  const next = typeof step === 'string' ? restOrGoOn(card, progress, step, now) : timesOf(step, now)
  const state = await deps.cards.finish(card.id, card.fence, {
    ...next,
    news: card.news,
    shown,
    certain: progress.certain && !overtaken,
    ...(overtaken ? { recheck: true as const } : {}),
    ...given({ perhaps_posted, message, posted_at }),
    ...(gone && message === undefined ? { gone } : {}),
    said,
    dropped,
    attempts,
    audit: auditOf(deps, card, progress, step, now),
  })
  if (state === undefined) {
    deps.log.warn({ card_id: card.id }, 'a card was taken over while it was being sent')
    if (attempts.some(({ what }) => what === 'update')) await deps.cards.doubt(card.id, now)
    return undefined
  }
  const patience = typeof step !== 'string' && step.state === 'due' && step.ask_patience
  const next_at = state === next.state ? next.next_at : next.again_at
  return { state, next_at, patience }
}

/** By then an edit that a platform still had in its hands has landed. */
export const LANDED_MS = 60_000

/** Replies beyond what one claim says keep it due. */
function restOrGoOn(card: Card, { said, dropped, overtaken }: CardProgress, rest: Rest, now: Date) {
  const state = rest === 'exhausted' ? 'idle' : rest
  const done = new Set([...said, ...dropped])
  const left = card.replies.some((reply) => reply.state === 'due' && !done.has(reply.id))
  if (overtaken && !left) {
    const again = new Date(now.getTime() + LANDED_MS)
    return { state: 'due' as const, next_at: again, again_at: now, tries: 0 }
  }
  return { state: left ? ('due' as const) : state, next_at: now, again_at: now, tries: 0 }
}

function timesOf(step: CardStep, now: Date) {
  const soon = new Date(now.getTime() + (RETRY_DELAYS_MS[0] ?? 0))
  if (step.state !== 'due') return { state: step.state, tries: step.tries, next_at: now, again_at: soon }
  const next_at = new Date(now.getTime() + step.delay_ms)
  return { state: step.state, tries: step.tries, next_at, again_at: step.ask_patience ? next_at : soon }
}

/** First message, recipient not found, given up: what the trail answers later. Never where on the platform a person is. */
function auditOf(
  deps: FlowDeps,
  card: Card,
  progress: CardProgress,
  step: Rest | CardStep,
  at: Date,
): AuditEntry[] {
  const entry = (type: AuditType): AuditEntry => {
    const { account_id, request_id, platform, recipient } = card
    const to = recipient.kind === 'channel' ? 'channel' : recipient.user_id
    const detail = { request_id, platform, recipient: to }
    const actor = { kind: 'service' } as const
    return { eid: drawId(deps, 'evt'), type, at, actor, account_id, subject: card.id, detail }
  }
  const wasUnreachable = card.attempts.at(-1)?.outcome === 'unreachable'
  const lost = typeof step !== 'string' && step.state === 'unreachable' && !wasUnreachable
  return [
    ...(progress.posted_at ? [entry('card.posted')] : []),
    ...(lost ? [entry('card.unreachable')] : []),
    ...(step === 'exhausted' ? [entry('card.exhausted')] : []),
  ]
}

/** What follows a call that was not accepted. `misleads`: the message asks about what is over. */
export function stepAfter(
  { random }: Pick<FlowDeps, 'random'>,
  { tries }: Card,
  { outcome, retry_after: retryAfter }: CardFailure,
  misleads = false,
): CardStep {
  const luck = (random.bytes(1)[0] ?? 0) / 255
  return cardStepAfter(outcome, { tries, retryAfter, misleads, luck })
}

export type AttemptDeps = FlowDeps & { lookup: Lookup; troubles: TroubleWatch }

/** One claimed card in the hands of this process. */
export interface Job {
  deps: AttemptDeps
  chat: ChatPort
  card: Card
  progress: CardProgress
  /** Moves on while calls are made. */
  leaseEnds: Date
}

/** Longest a call may take, waiting for its turn included, and the store afterwards. */
const CALL_MS = 20_000

/** What a process that was killed had in hand waits for so long; who takes longer asks for more. */
export const CARD_LEASE_MS = CALL_MS + 5_000

export type Failed = CardFailure & { ok: false; duration_ms: number; perhaps?: true }
export type Answer<T> = (ChatOutcome<T> & { ok: true }) | Failed

/** A call that could outlive the lease would run beside that of the process that takes over, so it first gets a longer one. */
export async function call<T>(job: Job, attempt: () => Promise<ChatOutcome<T>>): Promise<Answer<T>> {
  if (!isLate(job) || ((await extend(job)) && !isLate(job))) return attempt()
  return { ok: false, outcome: 'interrupted', duration_ms: 0 }
}

function isLate({ deps, leaseEnds }: Job): boolean {
  return deps.clock.now().getTime() + CALL_MS > leaseEnds.getTime()
}

/** What was done is recorded also where the store cannot do that now: else it would be done again. */
async function extend(job: Job): Promise<boolean> {
  const { deps, card } = job
  job.leaseEnds = new Date(deps.clock.now().getTime() + CARD_LEASE_MS)
  return deps.cards.extend(card.id, card.fence, job.leaseEnds).catch((error: unknown) => {
    deps.log.warn({ error, card_id: card.id }, 'a card could not be held for longer')
    return false
  })
}

export function accept(
  { deps, progress }: Job,
  what: CardAttempt['what'],
  version: number,
  ms: number,
): void {
  progress.shown = version
  progress.certain = true
  note(progress, deps, what, 'accepted', ms)
}

export function fail({ deps, progress }: Job, what: CardAttempt['what'], answer: Failed): void {
  progress.failure = answer
  note(progress, deps, what, answer.outcome, answer.duration_ms)
}

export function note(
  progress: CardProgress,
  { clock }: Pick<AttemptDeps, 'clock'>,
  what: CardAttempt['what'],
  outcome: CardAttempt['outcome'],
  duration_ms: number,
): void {
  progress.attempts.push({ at: clock.now(), what, outcome, duration_ms })
}

/**
 * Notes, for the workspace or the channel and not for this card, whether it takes anything from the app. An edit says
 * nothing of a channel: it may be refused, and pass, where a post does not.
 */
export async function notePlace({ deps, card, progress }: Job): Promise<void> {
  const { failure, message, attempts, gone } = progress
  const { tenant, code = 'unknown' } = failure ?? {}
  const channel = card.recipient.kind === 'channel' ? { channel: card.recipient.channel } : {}
  if (failure?.outcome === 'unavailable' && tenant !== undefined)
    await deps.troubles.failed(card, { tenant }, code)
  else if (failure?.outcome === 'unreachable' && tenant !== undefined && message === undefined && !gone) {
    if ('channel' in channel) await deps.troubles.failed(card, { tenant, ...channel }, code)
  } else if (message !== undefined && attempts.some(({ outcome }) => outcome === 'accepted')) {
    const posted = attempts.some(({ what, outcome }) => what !== 'update' && outcome === 'accepted')
    await deps.troubles.worked(card, { tenant: message.tenant, ...(posted ? channel : {}) })
  }
}

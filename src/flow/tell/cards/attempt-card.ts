import { isTheirs } from '../../../domain/card-state.ts'
import type { Card, CardAttempt, MessageRef } from '../../../domain/chat.ts'
import { NOT_INSTALLED, UNKNOWN_PERSON } from '../../../domain/chat-trouble.ts'
import { given } from '../../../domain/given.ts'
import type { ChatAddress, ChatOutcome, ChatPort } from '../../../ports/ports.ts'
import type { ClaimedCard } from '../../../store/chat/cards.ts'
import { findSubject, isOthers, isOver, type Showing, showReply, showSubject } from '../show-card.ts'
import { standingIn } from '../trouble.ts'
import { type FoundAddresses, findAddresses, findInstead, type Lookup } from './find-addresses.ts'
import {
  type Answer,
  type AttemptDeps,
  accept,
  type CardProgress,
  type CardReport,
  call,
  type Failed,
  fail,
  type Job,
  LANDED_MS,
  note,
  notePlace,
  recordCard,
  stepAfter,
} from './record-card.ts'

/** The most replies posted in one claim; further ones keep the card due. */
const MOST_REPLIES = 5

/**
 * Brings one claimed card up to date: posts it once or edits it, then posts the replies that are due under it, and writes one
 * result. The content is drawn from the stored request, so a late attempt shows the current state. Nothing is posted about a
 * request that is over, unless its outcome is to be told there or the card was deleted, nor where it no longer concerns the
 * person. After a lost answer the card is searched for; where the platform does not let the app search, the card, or the outcome
 * of a request that is over, is posted again (the documented and only duplicate).
 */
export async function attemptCard(
  deps: AttemptDeps,
  chat: ChatPort,
  { record: card, interrupted }: ClaimedCard,
): Promise<CardReport | undefined> {
  const progress: CardProgress = { shown: card.shown, certain: false, said: [], dropped: [], attempts: [] }
  if (card.message !== undefined) progress.message = card.message
  if (interrupted) note(progress, deps, whatOf(card), 'interrupted', 0)
  if (interrupted && card.message === undefined) progress.perhaps_posted = true
  const job = { deps, chat, card, progress, interrupted, leaseEnds: card.next_at }
  const request = await findSubject(deps, card)
  const perhaps = progress.perhaps_posted ?? card.perhaps_posted === true
  const over = request !== undefined && isOver(request, deps.clock.now())
  if (request === undefined) return endQuietly(job)
  const showing = await showSubject(deps, card, request)
  const silent = over && !tellsNow(job, showing)
  if (card.message === undefined && silent && !perhaps) return endQuietly(job, request.version)
  if (card.message === undefined && perhaps && (await findAgain(job, showing)) === 'none') {
    progress.perhaps_posted = false
    if (silent) return endQuietly(job, request.version)
  }
  const { message } = progress
  if (message === undefined && !over && isOthers(card, showing)) return endQuietly(job, request.version)
  // The request has lapsed and will soon be written as expired: do not ask about it any more.
  if (message === undefined && over && request.status === 'pending')
    progress.failure ??= { outcome: 'failed' }
  if (progress.failure === undefined) await bring(job, showing, over)
  const { failure, dropped } = progress
  // Editing a message that can no longer be edited would be tried for ever: the outcome is posted below it instead.
  // Not if it was a post elsewhere that failed: the message is then in a chat that is no longer the person's (T37).
  const edited = progress.attempts.at(-1)?.what === 'update' && progress.message !== undefined
  const fixed = failure?.outcome === 'unreachable' && !failure.gone && !failure.passing && edited
  if ((failure === undefined || fixed) && dropped.length === 0) await sayReplies(job, showing)
  await notePlace(job)
  if (progress.failure === undefined) return recordCard(deps, card, progress, 'idle')
  const misleads = over && progress.shown < card.wanted && (progress.message !== undefined || perhaps)
  return recordCard(deps, card, progress, stepAfter(deps, card, progress.failure, misleads))
}

/** Checks whether the outcome is yet to be told where the request wants it told, or where the card stood and was deleted. */
function tellsNow(job: Job, showing: Showing): boolean {
  const deleted = job.card.message === undefined && lastTaken(job) !== undefined
  return (showing.tells === true || deleted) && isUntold(job, showing)
}

/** Checks whether a reply is due that still says something to its reader. */
function isUntold({ deps, card }: Job, showing: Showing): boolean {
  const now = deps.clock.now()
  return dueReplies(card).some((reply) => showReply(showing, reply, now) !== undefined)
}

/** Posts a card that has no message, moves one that is in the wrong chat, or edits one that shows an old state. */
async function bring(job: Job, showing: Showing, over: boolean): Promise<void> {
  const { chat, card, progress } = job
  const { message } = progress
  if (message === undefined) return post(job, showing)
  const theirs = isTheirs(card, chat.platform, message, showing.person, await chat.tenantsOf(card.account_id))
  if (!theirs) return move(job, showing, message, over)
  if (card.shown < card.wanted || card.stale || card.message === undefined)
    await update(job, showing, message)
}

/** Ends the card's work without posting anything. */
function endQuietly({ deps, card, progress }: Job, version = 0): Promise<CardReport | undefined> {
  progress.shown = Math.max(card.wanted, version)
  progress.dropped = dueReplies(card).map(({ id }) => id)
  return recordCard(deps, card, progress, restingState(card))
}

/** Returns the state of a card at rest. If no message reached the person while it mattered, that stays on record. */
function restingState(card: Card): 'idle' | 'unreachable' {
  return card.attempts.at(-1)?.outcome === 'unreachable' ? 'unreachable' : 'idle'
}

function whatOf(card: Card): CardAttempt['what'] {
  if (card.message === undefined) return 'post'
  return card.shown < card.wanted || card.stale ? 'update' : 'reply'
}

/** Searches the chat where the card would be posted now. @returns `none` when it is certainly not there */
async function findAgain(job: Job, showing: Showing): Promise<'none' | undefined> {
  const { deps, chat, card, progress } = job
  const { find } = chat
  if (find === undefined) return undefined
  const found = await findAddresses(chat, card, showing.person, deps.lookup)
  if ('failed' in found) return void fail(job, 'post', found.failed)
  let unknown = found.list.length === 0
  for (const address of found.list) {
    const answer = await call(job, () => find(address, card.id, card.created_at))
    if (!answer.ok) return void fail(job, 'post', { ...answer, tenant: address.tenant })
    unknown ||= answer.value === 'unknown'
    if (typeof answer.value === 'string') continue
    progress.message = { ...answer.value, ...placedTo(address, found) }
    progress.posted_at = card.created_at
    progress.perhaps_posted = false
    return undefined
  }
  return unknown ? undefined : 'none'
}

async function post(job: Job, showing: Showing): Promise<void> {
  const { deps, chat, card } = job
  const found = await findAddresses(chat, card, showing.person, deps.lookup)
  if ('failed' in found) return fail(job, 'post', found.failed)
  const last = await postAt(job, showing, found)
  if (last === undefined) return
  // Only where the workspace does not know the linked identity at all, as after a migration to a Grid, where people get new ids:
  // whoever linked themselves may have done so because their address led to another person (T37).
  const gone = last.outcome === 'unreachable' && UNKNOWN_PERSON.has(last.code ?? '') && !job.progress.refused
  const again =
    gone && !found.byEmail
      ? await findInstead(chat, card, showing.person, found.list, deps.lookup)
      : undefined
  if (again === undefined) return fail(job, 'post', last)
  // An app that may not look people up still sends cards.
  if ('failed' in again)
    return fail(job, 'post', again.failed.outcome === 'unavailable' ? last : again.failed)
  const still = await postAt(job, showing, again)
  if (still !== undefined) fail(job, 'post', still)
}

/** Posts to the first of the addresses that accepts it. @returns the failure, if none did */
async function postAt(
  job: Job,
  { view, tells }: Showing,
  found: FoundAddresses,
): Promise<Failed | undefined> {
  const { deps, chat, card, progress } = job
  let last: Failed = { ok: false, outcome: 'unreachable', duration_ms: 0 }
  const mark = { id: card.id, ...given({ after: lastTaken(job) }) }
  const invited = found.byEmail ? { ...view, invite_to_link: true as const } : view
  // Its person may hear of the request only now.
  const late = tells ? view : { ...view, replaces: true as const }
  const drawn = view.status.kind === 'pending' ? invited : late
  for (const address of found.list) {
    const answer = await call(job, () => chat.post(address, drawn, mark))
    if (answer.ok) {
      progress.message = { ...answer.value, ...placedTo(address, found) }
      progress.posted_at = deps.clock.now()
      // What was lost before was looked for in vain, or cannot be; it is no reason to tell the outcome in a later chat.
      progress.perhaps_posted = false
      accept(job, 'post', view.version, answer.duration_ms)
      // A card of the outcome says all that a reply below it would.
      if (view.status.kind !== 'pending') progress.said.push(...dueReplies(card).map(({ id }) => id))
      return undefined
    }
    if (answer.perhaps) progress.perhaps_posted = true
    const failed = { ...answer, tenant: address.tenant }
    // A workspace that refuses the app, and a chat that may come back, are tried again, also when nobody is reached elsewhere.
    if (answer.outcome !== 'unreachable' || !(progress.refused || last.passing)) last = failed
    if (answer.outcome === 'unreachable') forget(deps.lookup, address)
    else if (answer.outcome === 'unavailable' && !answer.perhaps) progress.refused ??= failed
    else break
  }
  return last
}

/** Returns the time of the last accepted post: a repeated post with a lost answer is the same message, a later one is new. */
function lastTaken({ card, progress }: Job): Date | undefined {
  const taken = ({ what, outcome }: CardAttempt) => what === 'post' && outcome === 'accepted'
  return [...card.attempts, ...progress.attempts].findLast(taken)?.at
}

function placedTo(
  address: ChatAddress,
  { byEmail, instead_of }: FoundAddresses,
): Pick<MessageRef, 'user' | 'by_email' | 'instead_of'> {
  if (!('user' in address)) return {}
  return { user: address.user, ...(byEmail ? { by_email: true } : {}), ...given({ instead_of }) }
}

/** Closes the card in a chat that is no longer the person's and, while the request is pending, posts it where they are now. */
async function move(job: Job, showing: Showing, message: MessageRef, over: boolean): Promise<void> {
  const { deps, chat, card, progress } = job
  const answer = await callAt(job, message, () => chat.update(message, { kind: 'moved' }))
  if (!answer.ok && answer.outcome !== 'unreachable')
    return fail(job, 'update', { ...answer, tenant: message.tenant })
  note(progress, deps, 'update', answer.ok ? 'accepted' : answer.outcome, answer.duration_ms)
  const lost = await mendLost(job, showing)
  if (lost === 'done') return
  const tells = over && lost === 'unknown' && showing.request.status !== 'pending'
  if (tells || !(over || isOthers(card, showing))) return post(job, showing)
  progress.shown = showing.view.version
  progress.certain = true
  progress.dropped = dueReplies(card).map(({ id }) => id)
}

/**
 * Searches for a message that an earlier attempt may have posted in place of a known one, and brings it up to date.
 * @returns `done` when nothing is to be posted now, `none` when there is no such message, `unknown` when the app may not look
 */
async function mendLost(job: Job, showing: Showing): Promise<'done' | 'none' | 'unknown'> {
  const { card, progress, interrupted } = job
  const { message: before } = progress
  if (interrupted) progress.perhaps_posted = true
  if (!(progress.perhaps_posted ?? card.perhaps_posted)) return 'none'
  const none = (await findAgain(job, showing)) === 'none'
  if (none) progress.perhaps_posted = false
  const { failure, message } = progress
  if (failure === undefined && message === before) return none ? 'none' : 'unknown'
  if (failure === undefined && message !== undefined) await update(job, showing, message)
  return 'done'
}

/** Makes a call about a message. In a workspace that the account gave up, it would be tried for ever. */
async function callAt(
  job: Job,
  { tenant }: MessageRef,
  attempt: () => Promise<ChatOutcome<void>>,
): Promise<Answer<void>> {
  const { deps, card } = job
  const { account_id, platform } = card
  const answer = await call(job, attempt)
  if (answer.ok || answer.code !== NOT_INSTALLED) return answer
  const rests = (await standingIn(deps, account_id, { platform, tenant })) === 'given_up'
  return rests ? { ...answer, outcome: 'unreachable' } : answer
}

function forget(lookup: Lookup, address: ChatAddress): void {
  if ('user' in address) lookup.forget(address)
}

async function update(job: Job, showing: Showing, message: MessageRef): Promise<void> {
  const { chat, card } = job
  const { view, person } = showing
  const linked = person?.chat.some(
    ({ platform, tenant }) => platform === chat.platform && tenant === message.tenant,
  )
  const unknown = linked === false || message.instead_of !== undefined
  const invited = card.recipient.kind === 'approver' && unknown && view.status.kind === 'pending'
  const drawn = invited ? { ...view, invite_to_link: true as const } : view
  const answer = await callAt(job, message, () => chat.update(message, drawn))
  if (answer.ok) {
    if (mayBeOvertaken(job)) job.progress.overtaken = true
    accept(job, 'update', view.version, answer.duration_ms)
  } else {
    fail(job, 'update', { ...answer, tenant: message.tenant })
    if (!answer.gone) return
    if (view.status.kind === 'pending') forgetMessage(job)
    else await sayAnew(job, showing)
  }
}

/** Posts the outcome in full where the card was deleted: the person has yet to hear it. */
async function sayAnew(job: Job, showing: Showing): Promise<void> {
  const { card, progress } = job
  if (!isUntold(job, showing) || isOthers(card, showing)) return
  forgetMessage(job)
  delete progress.failure
  if ((await mendLost(job, showing)) !== 'done') await post(job, showing)
}

/** Forgets a message that was deleted while the request is pending: the next reminder posts the card again. */
function forgetMessage({ progress }: Job): void {
  delete progress.message
  delete progress.posted_at
  progress.gone = true
}

const LOST: ReadonlySet<CardAttempt['outcome']> = new Set(['timeout', 'failed', 'interrupted'])

/** Checks whether an edit with a lost answer came after the last accepted one, or is so recent that it may still be applied. */
function mayBeOvertaken({ deps, card, progress }: Job): boolean {
  const edits = [...card.attempts, ...progress.attempts].filter(({ what }) => what !== 'reply')
  const accepted = edits.findLastIndex(({ outcome }) => outcome === 'accepted')
  const landed = deps.clock.now().getTime() - LANDED_MS
  return edits.some(
    ({ what, outcome, at }, index) =>
      what === 'update' && LOST.has(outcome) && (index > accepted || at.getTime() > landed),
  )
}

/** Posts the replies in order, each once; of several waiting reminders only the last. */
async function sayReplies(job: Job, showing: Showing): Promise<void> {
  const { deps, chat, card, progress } = job
  const due = dueReplies(card).filter(({ id }) => !progress.said.includes(id))
  const lastReminder = due.findLast(({ kind }) => kind === 'reminder')
  const postedAt = progress.posted_at ?? card.posted_at
  let said = 0
  for (const reply of due) {
    if (progress.message === undefined || said >= MOST_REPLIES) return
    const view = showReply(showing, reply, deps.clock.now())
    const superseded = reply.kind === 'reminder' && reply !== lastReminder
    if (view === undefined || superseded) {
      progress.dropped.push(reply.id)
      continue
    }
    // The card was posted, or even made, after the event and already shows it.
    const told = reply.kind === 'reminder' || !isEdited(job) || reply.at <= card.created_at
    if (told && postedAt !== undefined && reply.at <= postedAt) {
      progress.said.push(reply.id)
      continue
    }
    const { message } = progress
    const answer = await callAt(job, message, () => chat.reply(message, view))
    note(progress, deps, 'reply', answer.ok ? 'accepted' : answer.outcome, answer.duration_ms)
    said += 1
    if (answer.ok) progress.said.push(reply.id)
    else if (answer.gone && reply.kind === 'reminder') {
      forgetMessage(job)
      delete progress.failure
      if ((await mendLost(job, showing)) !== 'done') await post(job, showing)
      if (progress.message !== undefined) progress.said.push(reply.id)
      return
    } else if (answer.outcome === 'unreachable' && !answer.passing) progress.dropped.push(reply.id)
    else {
      progress.failure = { ...answer, tenant: message.tenant }
      return
    }
  }
}

/** Checks whether the card was ever edited since it was posted. */
function isEdited({ card, progress }: Job): boolean {
  return [...card.attempts, ...progress.attempts].some(
    ({ what, outcome }) => what === 'update' && outcome === 'accepted',
  )
}

function dueReplies({ replies }: Card): Card['replies'] {
  return replies.filter(({ state }) => state === 'due')
}

import {
  afterCall,
  aimOf,
  type CardAim,
  type CardAnswer,
  type CardCall,
  type CardEnd,
  type CardState,
  cardState,
  hasMessage,
  isTheirs,
  lastPosted,
  mayBeOvertaken,
  nextMove,
  restingStep,
  shownStep,
  sortReplies,
} from '../../../domain/card-state.ts'
import type { CardAttempt, CardReply, MessageRef } from '../../../domain/chat.ts'
import { NOT_INSTALLED, UNKNOWN_PERSON } from '../../../domain/chat-trouble.ts'
import { given } from '../../../domain/given.ts'
import type { ChatAddress, ChatOutcome, ChatPort } from '../../../ports/ports.ts'
import type { ClaimedCard } from '../../../store/chat/cards.ts'
import { findSubject, isOthers, isOver, type Showing, showReply, showSubject } from '../show-card.ts'
import { standingIn } from '../trouble.ts'
import { type FoundAddresses, findAddresses, findInstead } from './find-addresses.ts'
import {
  type Answer,
  type AttemptDeps,
  accept,
  beginAttempt,
  type CardReport,
  call,
  cardAnswer,
  type Failed,
  fail,
  type Job,
  note,
  notePlace,
  recordCard,
  stepAfter,
} from './record-card.ts'

/**
 * Brings one claimed card up to date and writes one result: makes the calls that the table of `domain/card-state.ts` asks for, one
 * after the other. The content is drawn from the stored request, so a late attempt shows the current state.
 */
export async function attemptCard(
  deps: AttemptDeps,
  chat: ChatPort,
  claimed: ClaimedCard,
): Promise<CardReport | undefined> {
  const job = beginAttempt(deps, chat, claimed)
  const { card, progress } = job
  const request = await findSubject(deps, card)
  if (request === undefined) return settle(job)
  const showing = await showSubject(deps, card, request)
  const { message } = card
  const tenants = message === undefined ? [] : await chat.tenantsOf(card.account_id)
  const theirs = message !== undefined && isTheirs(card, chat.platform, message, showing.person, tenants)
  let state = cardState(card, { interrupted: claimed.interrupted, theirs })
  for (;;) {
    const { aim, say } = outlook(job, showing, state)
    const move = nextMove(state, aim)
    if (!isCall(move)) return endWith(move, job, showing, state)
    const { stop, ...after } = afterCall(state, move, await CALLS[move](job, showing, say))
    state = after
    if (state.place === 'deleted') {
      delete progress.message
      delete progress.posted_at
    }
    if (stop) return endWith('fail', job, showing, state)
  }
}

type Call = (job: Job, showing: Showing, say: CardReply | undefined) => Promise<CardAnswer>

const CALLS: Record<CardCall, Call> = { search, post, clear, edit, reply }

function isCall(move: CardCall | CardEnd): move is CardCall {
  return Object.hasOwn(CALLS, move)
}

/** Returns what the request wants of the card, and the reply that is due. Notes the replies that a message makes needless. */
function outlook(job: Job, showing: Showing, { place }: CardState): { aim: CardAim; say?: CardReply } {
  const { deps, card, progress } = job
  const now = deps.clock.now()
  const stands = place === 'shown' || place === 'fixed'
  const { say, said, dropped } = sortReplies(dueReplies(job), {
    posted_at: stands ? (progress.posted_at ?? card.posted_at) : undefined,
    created_at: card.created_at,
    edited: attemptsOf(job).some(({ what, outcome }) => what === 'update' && outcome === 'accepted'),
    says: (one) => showReply(showing, one, now) !== undefined,
  })
  if (stands) {
    progress.said.push(...said)
    progress.dropped.push(...dropped)
  }
  const owes = say !== undefined
  const about = { now, concerns: !isOthers(card, showing), tells: showing.tells === true, owes }
  return { aim: aimOf(showing.request, about), ...given({ say }) }
}

function attemptsOf({ card, progress }: Job): CardAttempt[] {
  return [...card.attempts, ...progress.attempts]
}

function dueReplies({ card, progress: { said, dropped } }: Job): CardReply[] {
  const over = new Set([...said, ...dropped])
  return card.replies.filter(({ id, state }) => state === 'due' && !over.has(id))
}

async function endWith(
  end: CardEnd,
  job: Job,
  { request }: Showing,
  { place, lost }: CardState,
): Promise<CardReport | undefined> {
  const { deps, card, progress } = job
  if (lost !== 'none' && !hasMessage(place)) progress.perhaps_posted = true
  else if (lost === 'none' && card.perhaps_posted) progress.perhaps_posted = false
  await notePlace(job)
  if (end === 'settle') return settle(job, request.version)
  const { failure, stale = false, message } = progress
  if (failure === undefined) return recordCard(job, shownStep(stale))
  const stands = message !== undefined || lost !== 'none'
  const misleads = isOver(request, deps.clock.now()) && progress.shown < card.wanted && stands
  return recordCard(job, stepAfter(job, failure, misleads))
}

/** Ends the card's work without posting anything. If no message reached the person while it mattered, that stays on record. */
function settle(job: Job, version = 0): Promise<CardReport | undefined> {
  const { card, progress } = job
  progress.shown = Math.max(card.wanted, version)
  progress.stale = false
  progress.dropped.push(...dueReplies(job).map(({ id }) => id))
  const unreached = card.attempts.at(-1)?.outcome === 'unreachable'
  return recordCard(job, restingStep(unreached ? 'unreachable' : 'idle'))
}

/** Searches the chat where the card would be posted now. */
async function search(job: Job, { person }: Showing): Promise<CardAnswer> {
  const { deps, chat, card, progress } = job
  const { find } = chat
  if (find === undefined) return 'unknown'
  const found = await findAddresses(chat, card, person, deps.lookup)
  if ('failed' in found) return fail(job, 'post', found.failed)
  let unknown = found.list.length === 0
  for (const address of found.list) {
    const answer = await call(job, () => find(address, card.id, card.created_at))
    if (!answer.ok) return fail(job, 'post', { ...answer, tenant: address.tenant })
    unknown ||= answer.value === 'unknown'
    if (typeof answer.value === 'string') continue
    // What the attempt that died posted in place of a deleted card, it posted because of the reminder.
    const replaces = card.message !== undefined && progress.message === undefined
    progress.posted_at = replaces ? deps.clock.now() : card.created_at
    progress.message = { ...answer.value, ...placedTo(address, found) }
    // Without it, a card whose message is deleted later would count as one that was never posted.
    note(job, 'post', 'accepted', answer.duration_ms)
    return 'accepted'
  }
  return unknown ? 'unknown' : 'gone'
}

async function post(job: Job, showing: Showing): Promise<CardAnswer> {
  const { deps, chat, card, progress } = job
  const found = await findAddresses(chat, card, showing.person, deps.lookup)
  if ('failed' in found) return fail(job, 'post', found.failed)
  const last = await postAt(job, showing, found)
  if (last === undefined) return 'accepted'
  // Only where the workspace does not know the linked identity at all, as after a migration to a Grid, where people get new ids:
  // whoever linked themselves may have done so because their address led to another person (T37).
  const gone = last.outcome === 'unreachable' && UNKNOWN_PERSON.has(last.code ?? '') && !progress.refused
  const again =
    gone && !found.byEmail
      ? await findInstead(chat, card, showing.person, found.list, deps.lookup)
      : undefined
  if (again === undefined) return fail(job, 'post', last)
  // An app that may not look people up still sends cards.
  if ('failed' in again)
    return fail(job, 'post', again.failed.outcome === 'unavailable' ? last : again.failed)
  const still = await postAt(job, showing, again)
  return still === undefined ? 'accepted' : fail(job, 'post', still)
}

/** Posts to the first of the addresses that accepts it. @returns the failure, if none did */
async function postAt(
  job: Job,
  { view, tells }: Showing,
  found: FoundAddresses,
): Promise<Failed | undefined> {
  const { deps, chat, card, progress } = job
  let last: Failed = { ok: false, outcome: 'unreachable', duration_ms: 0 }
  const mark = { id: card.id, ...given({ after: lastPosted(attemptsOf(job)) }) }
  const invited = found.byEmail ? { ...view, invite_to_link: true as const } : view
  // Its person may hear of the request only now.
  const late = tells ? view : { ...view, replaces: true as const }
  const drawn = view.status.kind === 'pending' ? invited : late
  for (const address of found.list) {
    const answer = await call(job, () => chat.post(address, drawn, mark))
    if (answer.ok) {
      progress.message = { ...answer.value, ...placedTo(address, found) }
      progress.posted_at = deps.clock.now()
      accept(job, 'post', view.version, answer.duration_ms)
      // The card says all that a reply below it would.
      progress.said.push(...dueReplies(job).map(({ id }) => id))
      return undefined
    }
    const failed = { ...answer, tenant: address.tenant }
    // A workspace that refuses the app, and a chat that may come back, are tried again, also when nobody is reached elsewhere.
    if (answer.outcome !== 'unreachable' || !(progress.refused || last.passing)) last = failed
    if (answer.outcome === 'unreachable') {
      if ('user' in address) deps.lookup.forget(address)
    } else if (answer.outcome === 'unavailable' && !answer.perhaps) progress.refused ??= failed
    else break
  }
  return last
}

function placedTo(
  address: ChatAddress,
  { byEmail, instead_of }: FoundAddresses,
): Pick<MessageRef, 'user' | 'by_email' | 'instead_of'> {
  if (!('user' in address)) return {}
  return { user: address.user, ...(byEmail ? { by_email: true } : {}), ...given({ instead_of }) }
}

/** Edits a message in a chat that is no longer the person's to one that says nothing about the request. */
async function clear(job: Job): Promise<CardAnswer> {
  const answer = await callAt(job, (message) => job.chat.update(message, { kind: 'moved' }))
  if (!answer.ok && answer.outcome !== 'unreachable') return fail(job, 'update', answer)
  note(job, 'update', answer.ok ? 'accepted' : answer.outcome, answer.duration_ms)
  return cardAnswer(answer)
}

async function edit(job: Job, { view, person }: Showing): Promise<CardAnswer> {
  const { deps, chat, card, progress } = job
  const { tenant, instead_of } = progress.message ?? {}
  const linked = person?.chat.some((one) => one.platform === chat.platform && one.tenant === tenant)
  const unknown = linked === false || instead_of !== undefined
  const invited = card.recipient.kind === 'approver' && unknown && view.status.kind === 'pending'
  const drawn = invited ? { ...view, invite_to_link: true as const } : view
  const answer = await callAt(job, (message) => chat.update(message, drawn))
  if (!answer.ok) return fail(job, 'update', answer)
  const overtaken = mayBeOvertaken(attemptsOf(job), deps.clock.now())
  return accept(job, 'update', view.version, answer.duration_ms, overtaken)
}

async function reply(job: Job, showing: Showing, say: CardReply | undefined): Promise<CardAnswer> {
  const { deps, chat, progress } = job
  const view = say && showReply(showing, say, deps.clock.now())
  if (say === undefined || view === undefined) return 'refused'
  const answer = await callAt(job, (message) => chat.reply(message, view))
  const said = cardAnswer(answer)
  if (said === 'accepted') progress.said.push(say.id)
  else if (said === 'refused') progress.dropped.push(say.id)
  else if (!answer.ok && said !== 'gone') return fail(job, 'reply', answer)
  note(job, 'reply', answer.ok ? 'accepted' : answer.outcome, answer.duration_ms)
  return said
}

/** Makes a call about the message. In a workspace that the account gave up, it would be tried for ever. */
async function callAt(
  job: Job,
  attempt: (message: MessageRef) => Promise<ChatOutcome<void>>,
): Promise<Answer<void>> {
  const { deps, card, progress } = job
  const { message } = progress
  if (message === undefined) return { ok: false, outcome: 'unreachable', gone: true, duration_ms: 0 }
  const { account_id, platform } = card
  const { tenant } = message
  const answer = await call(job, () => attempt(message))
  if (answer.ok) return answer
  const rests =
    answer.code === NOT_INSTALLED && (await standingIn(deps, account_id, { platform, tenant })) === 'given_up'
  return { ...answer, tenant, ...(rests ? { outcome: 'unreachable' } : {}) }
}

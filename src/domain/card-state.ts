import {
  type Card,
  type CardAttempt,
  type CardReply,
  type ChatPlatform,
  identityKey,
  type MessageRef,
} from './chat.ts'
import { RETRY_DELAYS_MS } from './retry.ts'
import type { User } from './user.ts'

/**
 * Where the message of a card is. `missing` was deleted before this attempt, `deleted` is a deletion that the platform has just
 * reported; `elsewhere` is a chat that is not, or no longer, the person's; `behind` shows an older state of the request, `fixed`
 * does and cannot be edited.
 */
export type CardPlace = 'unposted' | 'missing' | 'deleted' | 'elsewhere' | 'behind' | 'fixed' | 'shown'

/** Whether there may be another message, because the answer to a post was lost. `unfindable`: the app may not look for it. */
export type LostPost = 'none' | 'perhaps' | 'unfindable'

/** What is known of a card in the middle of an attempt. */
export interface CardState {
  place: CardPlace
  lost: LostPost
}

/**
 * What the request wants of the card. While it is pending: `ask`, or `remind` if a reminder is due. Once it is over: `owe` if its
 * outcome is still to be said to this recipient, `tell` if also to one who never got the card, else `close`. `hush`: the request
 * lapsed and its expiry is not written yet, or it does not concern the person.
 */
export type CardAim = 'ask' | 'remind' | 'tell' | 'owe' | 'close' | 'hush'

/** A call to the platform. `clear` edits the message to one that says no more than that the card is elsewhere. */
export type CardCall = 'search' | 'post' | 'clear' | 'edit' | 'reply'

/** How an attempt ends: up to date; with nothing to post; or with the failure of its last call. */
export type CardEnd = 'done' | 'settle' | 'fail'

/**
 * The answer to a call. For a search, `accepted`: found, `gone`: certainly not there, `unknown`: the app may not look. `refused`
 * is final, `passing` may not be. `lost`: the call may have taken effect.
 */
export type CardAnswer = 'accepted' | 'gone' | 'unknown' | 'refused' | 'passing' | 'failed' | 'lost'

type Row = CardPlace | 'lost' | 'unfindable'

/** What comes next: by where the message is, and what the request wants. */
const NEXT: Record<Row, Record<CardAim, CardCall | CardEnd>> = {
  unposted: { ask: 'post', remind: 'post', tell: 'post', owe: 'settle', close: 'settle', hush: 'settle' },
  // The person has yet to hear the outcome of what they were asked.
  missing: { ask: 'post', remind: 'post', tell: 'post', owe: 'post', close: 'settle', hush: 'settle' },
  // Posted again with the next reminder: whoever deleted it may not want it at once.
  deleted: { ask: 'fail', remind: 'post', tell: 'post', owe: 'post', close: 'fail', hush: 'fail' },
  lost: { ask: 'search', remind: 'search', tell: 'search', owe: 'search', close: 'search', hush: 'search' },
  // The documented and only duplicate: what may stand there looks pending.
  unfindable: { ask: 'post', remind: 'post', tell: 'post', owe: 'post', close: 'post', hush: 'settle' },
  elsewhere: { ask: 'clear', remind: 'clear', tell: 'clear', owe: 'clear', close: 'clear', hush: 'clear' },
  behind: { ask: 'edit', remind: 'edit', tell: 'edit', owe: 'edit', close: 'edit', hush: 'edit' },
  // Editing it would be tried for ever: the outcome is posted below it instead.
  fixed: { ask: 'fail', remind: 'reply', tell: 'reply', owe: 'reply', close: 'fail', hush: 'fail' },
  shown: { ask: 'done', remind: 'reply', tell: 'reply', owe: 'reply', close: 'done', hush: 'done' },
}

/** What an answer changes. `stop`: no more calls in this attempt. */
type Change = Partial<CardState> & { stop?: true }

const CLEARED: Change = { place: 'unposted' }

/** What is known after a call: by the call and its answer. Any other answer ends the attempt. */
const AFTER: Record<CardCall, Partial<Record<CardAnswer, Change>>> = {
  search: {
    accepted: { place: 'behind', lost: 'none' },
    gone: { lost: 'none' },
    unknown: { lost: 'unfindable' },
  },
  // What was lost before was looked for in vain, or cannot be; it is no reason to tell the outcome in a later chat.
  post: { accepted: { place: 'shown', lost: 'none' }, lost: { lost: 'perhaps', stop: true } },
  // A message that nobody can edit keeps no one from getting the card where they are now.
  clear: { accepted: CLEARED, gone: CLEARED, refused: CLEARED, passing: CLEARED },
  edit: { accepted: { place: 'shown' }, gone: { place: 'deleted' }, refused: { place: 'fixed' } },
  reply: { accepted: {}, gone: { place: 'deleted' }, refused: {} },
}

/**
 * What makes stored cards due: `news` of their request; `doubt` what a message shows; a recipient or place that may be `reachable`
 * again; a platform that `answers` again, or has taken a `post` there; a process that has `started` and knows of no outage.
 */
export type CardWake = 'news' | 'doubt' | 'reachable' | 'answers' | 'post' | 'started'

/** What a wake makes due. */
interface Woken {
  /**
   * Of the cards at rest: `to_do`, those that are behind or have a reply due; of the unreachable ones, `unreached`, those that are
   * behind or have a message, or `unedited`, those whose message is behind, `few`: unless they were refused three times.
   */
  rests: 'none' | 'all' | 'to_do' | 'unreached' | 'unedited' | 'unedited_few'
  /** Also the cards that wait after a failure, but never those for which the platform asked to wait. */
  failed: boolean
  /** The pauses begin anew. */
  anew: boolean
}

/** What makes which stored cards due; a card that is leased sees its news when its attempt ends. */
export const WAKES: Record<CardWake, Woken> = {
  news: { rests: 'to_do', failed: true, anew: true },
  doubt: { rests: 'all', failed: true, anew: true },
  // Cards of requests that ended before anything was posted are not behind, and there may be many.
  reachable: { rests: 'unreached', failed: true, anew: true },
  answers: { rests: 'unedited', failed: true, anew: true },
  // Some edits are refused for ever.
  post: { rests: 'unedited_few', failed: false, anew: false },
  started: { rests: 'none', failed: true, anew: false },
}

/**
 * Returns what is known of a stored card at the beginning of an attempt.
 * @param at `interrupted`: the attempt before this one never reported back; `theirs`: the message is in its person's chat
 */
export function cardState(card: Card, at: { interrupted: boolean; theirs: boolean }): CardState {
  const lost = at.interrupted || card.perhaps_posted ? 'perhaps' : 'none'
  if (card.message === undefined)
    return { place: lastPosted(card.attempts) === undefined ? 'unposted' : 'missing', lost }
  if (!at.theirs) return { place: 'elsewhere', lost }
  return { place: card.shown < card.wanted || card.stale ? 'behind' : 'shown', lost }
}

/** Returns the call to make next, or how the attempt ends. Pure: the table of states is `NEXT`. */
export function nextMove({ place, lost }: CardState, aim: CardAim): CardCall | CardEnd {
  if (lost === 'none' || hasMessage(place)) return NEXT[place][aim]
  if (lost === 'perhaps') return NEXT.lost[aim]
  return NEXT[place === 'deleted' ? place : 'unfindable'][aim]
}

/** Returns what is known after the answer to a call. The table of transitions is `AFTER`. */
export function afterCall(
  { place, lost }: CardState,
  call: CardCall,
  answer: CardAnswer,
): CardState & { stop?: true } {
  return { place, lost, ...(AFTER[call][answer] ?? { stop: true }) }
}

/** Checks whether a message is known, and was not deleted. */
export function hasMessage(place: CardPlace): boolean {
  return place !== 'unposted' && place !== 'missing' && place !== 'deleted'
}

/**
 * Returns what the request wants of a card.
 * @param about `concerns`: it concerns the recipient; `tells`: the recipient is to hear the outcome in any case; `owes`: a reply
 *   is due that says something to them
 */
export function aimOf(
  { status, expires_at }: { status: string; expires_at: Date },
  { now, concerns, tells, owes }: { now: Date; concerns: boolean; tells: boolean; owes: boolean },
): CardAim {
  if (status !== 'pending') return owes ? (tells ? 'tell' : 'owe') : 'close'
  if (expires_at <= now || !concerns) return 'hush'
  return owes ? 'remind' : 'ask'
}

/** Returns when the last post was accepted: a repeated post with a lost answer is the same message, a later one is new. */
export function lastPosted(attempts: readonly CardAttempt[]): Date | undefined {
  return attempts.findLast(({ what, outcome }) => what === 'post' && outcome === 'accepted')?.at
}

/**
 * Sorts the replies that are due under a message: the next one to post, those that the message itself says already, and those that
 * say nothing any more. Of several reminders only the last is posted.
 * @param posted_at when the message was posted; absent: there is none
 * @param says whether a reply still says something to its reader
 */
export function sortReplies(
  due: readonly CardReply[],
  {
    posted_at,
    created_at,
    edited,
    says,
  }: { posted_at?: Date | undefined; created_at: Date; edited: boolean; says(reply: CardReply): boolean },
): { say: CardReply | undefined; said: string[]; dropped: string[] } {
  const lastReminder = due.findLast(({ kind }) => kind === 'reminder')
  const open = due.filter((reply) => says(reply) && (reply.kind !== 'reminder' || reply === lastReminder))
  // The card was posted, or even made, after the event and shows it. An edit notifies no one.
  const shows = ({ kind, at }: CardReply) =>
    posted_at !== undefined && at <= posted_at && (kind === 'reminder' || !edited || at <= created_at)
  const ids = (replies: readonly CardReply[]) => replies.map(({ id }) => id)
  return {
    say: open.find((reply) => !shows(reply)),
    said: ids(open.filter(shows)),
    dropped: ids(due.filter((reply) => !open.includes(reply))),
  }
}

/** The longest `Retry-After` honoured: a platform may ask for patience, but not park a card for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
const SHORTEST_RETRY_AFTER_MS = 1_000

/** The longest pause between attempts; later ones stay at it, since a platform may be down for days. */
const LONGEST_PAUSE_MS = 900_000
/** The longest pause for a card that still asks about a request that is over, since such a card misleads. */
const LONGEST_WHILE_WRONG_MS = 300_000
/** The pauses after refusals that may pass: long ones, because most do not. After the last one a card rests as unreachable. */
const PASSING_PAUSES_MS: readonly number[] = [1, 5, 15, 60, 360, 1_440].map((minutes) => minutes * 60_000)
/** Attempts after such a refusal; one that follows them all is final. */
export const PASSING_TRIES = PASSING_PAUSES_MS.length
/** Up to this share of a pause is cut at random, so that cards that failed together are not retried together. */
const JITTER = 0.25
/** Milliseconds until a card that failed is tried because of news; a new state may be what the platform accepts. */
const NEWS_MS = 1_000
/** Milliseconds after which an edit that the platform still had to apply has been applied. */
const LANDED_MS = 60_000

/** The stored state of a card after an attempt. */
export interface CardStep {
  state: Exclude<Card['state'], 'leased'>
  tries: number
  /** Until the card is due. */
  delay_ms: number
  /** Until it is due if it got news meanwhile. */
  again_ms: number
  /** The platform asked to wait with all messages to this recipient. */
  ask_patience: boolean
}

/** Returns the step of a card that needs no more calls for now. */
export function restingStep(state: 'idle' | 'unreachable'): CardStep {
  return { state, tries: 0, delay_ms: 0, again_ms: 0, ask_patience: false }
}

/** Returns the step of a card that shows the current state. It is edited once more if its edit may be overtaken. */
export function shownStep(overtaken: boolean): CardStep {
  return { ...restingStep('idle'), ...(overtaken ? { state: 'due', delay_ms: LANDED_MS } : {}) }
}

/** Outcomes of calls to which no answer came. */
export const UNANSWERED: ReadonlySet<string | undefined> = new Set(['timeout', 'failed', 'interrupted'])

/** Checks whether an edit with a lost answer came after the last accepted one, or is so recent that it may still be applied. */
export function mayBeOvertaken(attempts: readonly CardAttempt[], now: Date): boolean {
  const edits = attempts.filter(({ what }) => what !== 'reply')
  const accepted = edits.findLastIndex(({ outcome }) => outcome === 'accepted')
  const landed = now.getTime() - LANDED_MS
  return edits.some(
    ({ what, outcome, at }, index) =>
      what === 'update' && UNANSWERED.has(outcome) && (index > accepted || at.getTime() > landed),
  )
}

/** The facts that determine the pause before the next attempt. */
interface Trouble {
  /** Failed attempts in a row before this one. */
  tries: number
  /** Seconds of pause that the platform asked for. */
  retryAfter?: number | undefined
  /** The refusal may pass, although the platform calls it final. */
  passing?: boolean | undefined
  /** The card's message asks about a request that is over. */
  misleads?: boolean
  /** Random number from 0 to 1, drawn for this attempt. */
  luck: number
}

/**
 * Decides what follows a failed call. A card is never given up because calls fail. Neither a rate limit nor a process that
 * stops in the middle counts as a failure, so neither lengthens the later pauses.
 */
export function cardStepAfter(
  outcome: Exclude<CardAttempt['outcome'], 'accepted'>,
  { tries, retryAfter = 0, passing = false, misleads = false, luck }: Trouble,
): CardStep {
  const step = { state: 'due', tries, delay_ms: 0, again_ms: NEWS_MS, ask_patience: false } as const
  const again = (pause: number): CardStep => {
    return { ...step, tries: tries + 1, delay_ms: Math.round(pause * (1 - JITTER * luck)) }
  }
  switch (outcome) {
    case 'unreachable': {
      const pause = passing ? PASSING_PAUSES_MS[tries] : undefined
      // After the long pauses it is as if refused once: an edit is still due when its channel takes a post again.
      if (pause === undefined)
        return { ...step, state: 'unreachable', tries: tries < PASSING_TRIES ? tries + 1 : 1 }
      return again(pause)
    }
    case 'interrupted':
      return step
    case 'rate_limited': {
      const asked = Math.min(retryAfter * 1000, LONGEST_RETRY_AFTER_MS)
      const delay_ms = Math.max(asked, SHORTEST_RETRY_AFTER_MS)
      return { ...step, delay_ms, again_ms: delay_ms, ask_patience: true }
    }
    default: {
      const most = misleads ? LONGEST_WHILE_WRONG_MS : LONGEST_PAUSE_MS
      return again(Math.min(RETRY_DELAYS_MS[tries] ?? LONGEST_PAUSE_MS, most))
    }
  }
}

/** The longest pause of the card that probes an outage. With the time that a hanging call takes, others wait 30 s at most. */
export const PROBE_MS = 15_000
/** Failed attempts in a row after which a card probes no more: it may fail alone, and for ever. Over an hour. */
const MOST_PROBES = 250

/** Shortens the pause of a card that probes for all cards of an account whether the platform is back. */
export function probeStep(step: CardStep, tries: number): CardStep {
  if (step.state !== 'due' || tries >= MOST_PROBES) return step
  return { ...step, delay_ms: Math.min(step.delay_ms, PROBE_MS) }
}

/**
 * Checks whether a posted message is in the chat of the person whose card it is. It may have gone by e-mail address to another
 * person, or to an identity that was unlinked since: such a message gets no more news (T37). A linked person is at the
 * identities they linked; any other person is where the e-mail address led.
 * @param tenants the workspaces that serve the card's account
 */
export function isTheirs(
  { recipient }: Pick<Card, 'recipient'>,
  platform: ChatPlatform,
  message: MessageRef,
  person: User | undefined,
  tenants: readonly string[],
): boolean {
  if (recipient.kind === 'channel' || message.user === undefined) return true
  // A workspace that is gone or not known now cannot be reached anyway.
  if (!tenants.includes(message.tenant)) return true
  const linked = (person?.chat ?? []).filter(
    (identity) => identity.platform === platform && tenants.includes(identity.tenant),
  )
  const { instead_of = [] } = message
  // Still so while nothing was linked that works.
  if (linked.every((identity) => instead_of.includes(identityKey(identity)))) return message.by_email === true
  return linked.some(({ tenant, user }) => tenant === message.tenant && user === message.user)
}

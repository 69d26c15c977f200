import type { Account } from './account.ts'
import type { AuditEntry } from './audit.ts'
import type { Bootstrap } from './bootstrap.ts'
import { more, shortLine } from './cut-text.ts'
import {
  type FactorNotice,
  noticeAdvice,
  noticeHeading,
  noticePath,
  noticeSentences,
} from './factor-notice.ts'
import type { ApprovalRequest } from './request.ts'
import { visibleString } from './text.ts'
import { textWarnings, warningPrefix } from './text-warnings.ts'
import type { Attempt } from './webhook.ts'

/** A browser's push address and keys (Push API, `PushSubscription.toJSON()`). All three fields are secrets of that browser. */
export interface PushSubscription {
  /** Address of the push service for this browser alone; parsed and checked as webhooks are (`TargetUrls`). */
  endpoint: string
  /** base64url: the browser's P-256 point, 65 bytes, and its 16 bytes of authentication secret (RFC 8291 §3.2). */
  p256dh: string
  auth: string
}

/**
 * A place at which a person is told: a browser that shows notifications, or their e-mail address. A removed one stays stored,
 * unusable, until the trail has its audit entries; an address for ever, since it counts the codes that were sent there.
 */
export interface PushDevice {
  /** `psd_…` */
  id: string
  user_id: string
  /** The person's own account, for the audit entries. */
  account_id: string
  /** Absent: a browser. Of an address, which is always that of the person, nothing but this is stored here. */
  kind?: 'mail'
  /** `unconfirmed`: nothing goes to that address but codes that prove it. */
  state: 'active' | 'removed' | 'unconfirmed'
  /** Of an address: the code that proves it, and when codes were sent, newest last. */
  code?: AddressCode
  codes_sent?: Date[]
  /** When the relay refused the address. */
  bounced_at?: Date
  /** The person's own name for the browser. */
  name: string
  /** Keyed hash of the endpoint, so that a browser is registered only once. Removal deletes it, `sealed` and `slot`. */
  endpoint_hash?: string
  /** The subscription, sealed with its endpoint's hash as associated data. */
  sealed?: string
  /** 0 to `MOST_PUSH_DEVICES` − 1, unique per person, so that nobody has more browsers than that. */
  slot?: number
  /** Host name of the push service, for the limit per host. */
  host: string
  created_at: Date
  last_sent_at: Date | null
  audit: AuditEntry[]
}

/** Browsers that one person can register for notifications. */
export const MOST_PUSH_DEVICES = 10

/** The place of a person's e-mail address, after those of their browsers. */
export const MAIL_SLOT = 10

/** A code that was sent to an address: its keyed hash, and how often it was guessed. */
interface AddressCode {
  hash: string
  expires_at: Date
  tries: number
}

/** Codes sent to one address within a day: anyone may be invited under any address. */
export const MOST_CODES = 5

/** Wrong codes after which a new one must be sent. */
export const MOST_CODE_TRIES = 5

/** Returns the id of a person's e-mail address among the places at which they are told: there is one for each person. */
export function mailDeviceId(userId: string): string {
  return userId.replace(/^usr_/, 'psd_')
}

/** The subject of a push. Its text is made when it is sent, from what is stored then. */
export type PushSubject =
  | { kind: 'request' | 'reminder' | 'outcome'; request_id: string }
  | { kind: 'digest' }
  | { kind: 'invitation' }
  | { kind: 'consent'; bootstrap_id: string }
  | { kind: 'notice'; notice: FactorNotice }
  | { kind: 'test' }

/**
 * `dropped`: there was nothing left to say (decided meanwhile, device removed). `dead`: given up. Neither is tried again.
 */
type PushState = 'due' | 'leased' | 'sent' | 'dropped' | 'dead'

/** One event on its way to one browser or address: there is exactly one for each pair. */
export interface Push {
  /** `psh_…` */
  id: string
  /** The account that the push concerns: the request's, or the person's own. */
  account_id: string
  user_id: string
  device_id: string
  /** `evt_…` of the event or the audit entry that the push is about. */
  event_id: string
  about: PushSubject
  host: string
  state: PushState
  /** When the push is due, when its lease ends, or since when it is at rest. */
  next_at: Date
  /** From then on neither we nor the push service send anything. */
  expires_at: Date
  /** Attempts with a known outcome. */
  tries: number
  /** Fencing token. Grows with every claim; a process that holds an older number can no longer write (T82). */
  fence: number
  /** Newest last. */
  attempts: Attempt[]
  created_at: Date
  audit: AuditEntry[]
}

/** Days after which a push that came to rest is deleted. */
export const PUSH_DAYS_AT_REST = 7

/** How long a notice is still worth showing on a browser that was offline. */
export const NOTICE_PUSH_DAYS = 7

/** Lifetime of a test push: one that arrives after the person has stopped looking is of no use. */
export const TEST_PUSH_MS = 60_000

/** What a person is told, before it becomes a notification or a mail. */
export interface News {
  /** Our words alone, without a full stop. */
  title: string
  /** The caller's words, in visible form. */
  quote?: { warning: string; text: string }
  /** What else is said; names in it are on one line, in visible form. */
  sentences: string[]
  /** A path of this service; opening it never decides anything. */
  url: string
  /** A later notification with the same tag replaces the earlier one; mails with the same tag form a thread. */
  tag: string
}

/** The notification that a browser shows, and the page it opens on a click. */
export interface PushPayload extends Pick<News, 'title' | 'url' | 'tag'> {
  body: string
}

/** In UTF-16 units. Even at four bytes per unit, the payload stays far below the 3993 bytes that push services take. */
const ACTION_LENGTH = 300
const NAME_LENGTH = 80

/** Draws the notification of a browser. */
export function drawPayload({ title, quote, sentences, url, tag }: News): PushPayload {
  const said = quote && `${quote.warning}${shortLine(quote.text, ACTION_LENGTH)}\n`
  return { title, body: `${said ?? ''}${sentences.join(quote ? '\n' : ' ')}`, url, tag }
}

type Shown = Pick<ApprovalRequest, 'id' | 'action' | 'requested_by' | 'high_impact'>

/** Says what waits and who asks: the caller's words in visible form, below ours. Never the context, never a secret. */
export function requestNews(request: Shown, kind: 'request' | 'reminder'): News {
  const heading = kind === 'request' ? 'A request waits for your decision' : 'Still waiting for your decision'
  const title = request.high_impact ? `High impact: ${lowerFirst(heading)}` : heading
  return { title, ...aboutRequest(request) }
}

/** Says what became of a request, to the person to whom its caller wants that told. */
export function outcomeNews(request: Shown & Pick<ApprovalRequest, 'status' | 'cancelled'>): News {
  const outcome = request.status === 'expired' && request.cancelled ? 'withdrawn' : request.status
  const title = outcome === 'expired' ? 'A request expired' : `A request was ${outcome}`
  return { title, ...aboutRequest(request) }
}

function aboutRequest({ id, action, requested_by: { key_name, account_name } }: Shown): Omit<News, 'title'> {
  return {
    quote: { warning: warningPrefix(textWarnings([action])), text: visibleString(action) },
    sentences: [`Requested by ${line(key_name)} of ${line(account_name)}`],
    url: `/a/${id}`,
    tag: id,
  }
}

/** Says the same of several requests of one call: how many there are, and what the first asks for. */
export function batchNews(id: string, requests: readonly Shown[], kind: 'request' | 'reminder'): News {
  const [first, ...others] = requests
  const { key_name = '', account_name = '' } = first?.requested_by ?? {}
  const heading =
    requests.length === 1
      ? 'A request waits for your decision'
      : `${requests.length} requests wait for your decision`
  const warning = warningPrefix(textWarnings(requests.map(({ action }) => action)))
  return {
    title: kind === 'request' ? heading : 'Still waiting for your decision',
    quote: { warning, text: visibleString(first?.action ?? '') },
    sentences: [
      ...(others.length === 0 ? [] : [more(others.length, 'request', 'requests')]),
      `Requested by ${line(key_name)} of ${line(account_name)}`,
    ],
    url: `/?batch=${id}`,
    tag: id,
  }
}

/** Says that an agent asks for a key of the account. The agent chose its own name; the matching code stays with the agent. */
export function consentNews({ id, client_name, requester }: Bootstrap): News {
  return {
    title: 'An agent asks for an API key of your account',
    sentences: [
      `${warningPrefix(textWarnings([client_name]))}It calls itself “${line(client_name)}”, unverified.`,
      `Requested from ${requester.address}.`,
    ],
    url: `/b/${id}`,
    tag: id,
  }
}

/** Tells a person of a change of their factors or rights. */
export function factorNews(notice: FactorNotice, eventId: string): News {
  return {
    title: noticeHeading(notice),
    sentences: [...noticeSentences(notice), noticeAdvice(notice)],
    url: noticePath(notice),
    tag: eventId,
  }
}

/** Requests that a digest names, and those that it counts. */
const LISTED = 5
export const DIGEST_MOST = 100

/** Says how many requests wait, and names the first. */
export function digestNews(waiting: readonly Pick<ApprovalRequest, 'action'>[], tag: string): News {
  const count = waiting.length
  const least = count >= DIGEST_MOST ? 'At least ' : ''
  return {
    title:
      count === 1 ? 'A request waits for your decision' : `${least}${count} requests wait for your decision`,
    sentences: [
      'Written by callers, not checked by Countersign:',
      ...waiting.slice(0, LISTED).map(({ action }) => `> ${line(action)}`),
      ...(count > LISTED ? [more(count - LISTED, 'request', 'requests')] : []),
    ],
    url: '/',
    tag,
  }
}

/** Says who invites into which account. The link that enrols is in the inviter's hands: a mail must not sign anybody in. */
export function invitationNews(
  account: Pick<Account, 'name'>,
  { inviter, role, tag }: { inviter: string; role: string; tag: string },
): News {
  return {
    title: 'You are invited to decide on requests',
    sentences: [
      `${line(inviter)} invites you to the account ${line(account.name)} as ${role}.`,
      'If you have a passkey or code here, sign in and answer the invitation. Otherwise ask the person who invites you for your personal link.',
      'If you do not know them, ignore this mail.',
    ],
    url: '/',
    tag,
  }
}

/** What the person sees who tries a channel out. */
export const TEST_NEWS: News = {
  title: 'Notifications work',
  sentences: ['Your pending requests will be shown like this.'],
  url: '/account',
  tag: 'test',
}

function line(text: string, most = NAME_LENGTH): string {
  return shortLine(visibleString(text), most)
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

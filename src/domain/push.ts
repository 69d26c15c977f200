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

/** A browser that shows a person's notifications. A removed one stays stored, unusable, until the trail has its audit entries. */
export interface PushDevice {
  /** `psd_…` */
  id: string
  user_id: string
  /** The person's own account, for the audit entries. */
  account_id: string
  state: 'active' | 'removed'
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

/** The subject of a push. Its text is made when it is sent, from what is stored then. */
export type PushSubject =
  | { kind: 'request' | 'reminder'; request_id: string }
  | { kind: 'consent'; bootstrap_id: string }
  | { kind: 'notice'; notice: FactorNotice }
  | { kind: 'test' }

/**
 * `dropped`: there was nothing left to say (decided meanwhile, device removed). `dead`: given up. Neither is tried again.
 */
type PushState = 'due' | 'leased' | 'sent' | 'dropped' | 'dead'

/** One event on its way to one browser: there is exactly one for each pair. */
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

/** The notification that a browser shows, and the page it opens on a click. */
export interface PushPayload {
  /** Our words alone. */
  title: string
  body: string
  /** A path of this service; opening it never decides anything. */
  url: string
  /** A later notification with the same tag replaces the earlier one. */
  tag: string
}

/** In UTF-16 units. Even at four bytes per unit, the payload stays far below the 3993 bytes that push services take. */
const ACTION_LENGTH = 300
const NAME_LENGTH = 80

/** Says what waits and who asks: the caller's words in visible form, below ours. Never the context, never a secret. */
export function requestPush(
  request: Pick<ApprovalRequest, 'id' | 'action' | 'requested_by' | 'high_impact'>,
  kind: 'request' | 'reminder',
): PushPayload {
  const { key_name, account_name } = request.requested_by
  const heading = kind === 'request' ? 'A request waits for your decision' : 'Still waiting for your decision'
  return {
    title: request.high_impact ? `High impact: ${lowerFirst(heading)}` : heading,
    body: `${warningPrefix(textWarnings([request.action]))}${line(request.action, ACTION_LENGTH)}\nRequested by ${line(key_name)} of ${line(account_name)}`,
    url: `/a/${request.id}`,
    tag: request.id,
  }
}

/** Says the same of several requests of one call: how many there are, and what the first asks for. */
export function batchPush(
  id: string,
  requests: readonly Pick<ApprovalRequest, 'id' | 'action' | 'requested_by'>[],
  kind: 'request' | 'reminder',
): PushPayload {
  const [first, ...others] = requests
  const { key_name = '', account_name = '' } = first?.requested_by ?? {}
  const single = requests.length === 1
  const heading = single
    ? 'A request waits for your decision'
    : `${requests.length} requests wait for your decision`
  const warnings = warningPrefix(textWarnings(requests.map(({ action }) => action)))
  const and = others.length === 0 ? '' : `\n${more(others.length, 'request', 'requests')}`
  return {
    title: kind === 'request' ? heading : 'Still waiting for your decision',
    body: `${warnings}${line(first?.action ?? '', ACTION_LENGTH)}${and}\nRequested by ${line(key_name)} of ${line(account_name)}`,
    url: `/?batch=${id}`,
    tag: id,
  }
}

/** Says that an agent asks for a key of the account. The agent chose its own name; the matching code stays with the agent. */
export function consentPush({ id, client_name, requester }: Bootstrap): PushPayload {
  return {
    title: 'An agent asks for an API key of your account',
    body: `${warningPrefix(textWarnings([client_name]))}It calls itself “${line(client_name)}”, unverified. Requested from ${requester.address}.`,
    url: `/b/${id}`,
    tag: id,
  }
}

/** Tells a person of a change of their factors or rights. */
export function noticePush(notice: FactorNotice, eventId: string): PushPayload {
  return {
    title: noticeHeading(notice),
    body: [...noticeSentences(notice), noticeAdvice(notice)].join(' '),
    url: noticePath(notice),
    tag: eventId,
  }
}

/** The push of `POST /me/push/:id/test`. */
export const TEST_PUSH: PushPayload = {
  title: 'Notifications work',
  body: 'Your pending requests will be shown like this.',
  url: '/account',
  tag: 'test',
}

function line(text: string, most = NAME_LENGTH): string {
  return shortLine(visibleString(text), most)
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

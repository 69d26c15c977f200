import type { AuditEntry } from './audit.ts'
import type { FactorNotice } from './factor-notice.ts'
import type { Attempt } from './webhook.ts'

/** What a browser gave us to reach it (Push API, `PushSubscription.toJSON()`). All three are secrets of that browser. */
export interface PushSubscription {
  /** Address of the push service for this browser alone; parsed and checked as webhooks are (`TargetUrls`). */
  endpoint: string
  /** base64url: the browser's P-256 point, 65 bytes, and its 16 bytes of authentication secret (RFC 8291 §3.2). */
  p256dh: string
  auth: string
}

/** A browser that a person has told to show notifications. A removed one stays, worth nothing, until the trail has it. */
export interface PushDevice {
  /** `psd_…` */
  id: string
  user_id: string
  /** The person's own account, for the audit entries. */
  account_id: string
  state: 'active' | 'removed'
  /** The person's word for it. */
  name: string
  /** Keyed hash of the endpoint: a browser is registered once. Gone with removal, as the next two. */
  endpoint_hash?: string
  /** The subscription, sealed for its endpoint's hash. */
  sealed?: string
  /** 0 to `MOST_PUSH_DEVICES` − 1, unique among the person's: so there are never more. */
  slot?: number
  /** Host name of the push service, for the limit per host. */
  host: string
  created_at: Date
  last_sent_at: Date | null
  audit: AuditEntry[]
}

/** Browsers that one person can have told of what waits. */
export const MOST_PUSH_DEVICES = 10

/** What a push tells of. Its words are drawn when it is sent, from what is stored then. */
export type PushSubject =
  | { kind: 'request' | 'reminder'; request_id: string }
  | { kind: 'consent'; bootstrap_id: string }
  | { kind: 'notice'; notice: FactorNotice }
  | { kind: 'test' }

/**
 * `dropped`: there was nothing to say any more (decided meanwhile, device removed). `dead`: given up. Neither is tried
 * again.
 */
type PushState = 'due' | 'leased' | 'sent' | 'dropped' | 'dead'

/** One event on its way to one browser: there is exactly one for each pair. */
export interface Push {
  /** `psh_…` */
  id: string
  /** Whose account it concerns: the request's, or the person's own. */
  account_id: string
  user_id: string
  device_id: string
  /** `evt_…` of the event or the audit entry that it tells of. */
  event_id: string
  about: PushSubject
  host: string
  state: PushState
  /** Due: when. Leased: when the lease ends. At rest: since when. */
  next_at: Date
  /** Nothing is sent, by us or by the push service, from then on. */
  expires_at: Date
  /** Attempts with a known outcome. */
  tries: number
  /** Grows with every claim: whoever holds an older number can write nothing any more (T82). */
  claim: number
  /** Newest last. */
  attempts: Attempt[]
  created_at: Date
  audit: AuditEntry[]
}

/** Days after which a push that came to rest is deleted. */
export const PUSH_DAYS_AT_REST = 7

/** How long a notice is worth showing on a browser that was away. */
export const NOTICE_PUSH_DAYS = 7

/** A test that does not arrive while somebody looks is of no use. */
export const TEST_PUSH_MS = 60_000

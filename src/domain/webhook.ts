import type { AuditEntry } from './audit.ts'
import type { EventType, OutboxEvent } from './event.ts'
import type { OutcomeClass } from './retry.ts'

/** An account's webhook. `disabled`: its receiver answered 410, or the operator did it. A deleted webhook stays stored for its log. */
export interface Webhook {
  /** `whk_…` */
  id: string
  account_id: string
  /** Parsed and checked; see `TargetUrls`. */
  url: string
  /** Host name of `url`, for the limit per host. */
  host: string
  /** Event types that the receiver wants; empty = all. */
  events: EventType[]
  state: 'active' | 'disabled' | 'deleted'
  /** 64 hex characters, sealed; the HMAC key is the ASCII of the hex (security §5.3). Empty once the webhook is deleted. */
  sealed_secret: string
  /** The secret before the last rotation. It also signs until `until`, so that receivers can change over without a gap. */
  previous_secret?: { sealed: string; until: Date }
  created_at: Date
  disabled_at: Date | null
  /** Its place among the account's webhooks; absent once it is deleted. */
  slot?: number
  audit: AuditEntry[]
}

/** The receiver: the callback of a request, or a webhook of the account. */
type DeliveryTarget =
  | { kind: 'callback'; request_id: string; api_key_id: string; secret_version: number }
  | { kind: 'webhook'; webhook_id: string }

/** One attempt whose outcome is known. */
export interface Attempt {
  at: Date
  outcome: OutcomeClass
  /** Milliseconds from the start to the status line, or to the failure. */
  duration_ms: number
}

/**
 * `dropped`: the delivery no longer has a receiver (its webhook was deleted or disabled), or was due in the copy from which the store
 * was restored.
 */
type DeliveryState = 'due' | 'leased' | 'delivered' | 'dead' | 'dropped'

/** One event on its way to one receiver. Delivered at least once, always with the same `event_id` (the header `webhook-id`). */
export interface Delivery {
  /** `dlv_…` */
  id: string
  account_id: string
  target: DeliveryTarget
  event_id: string
  /** `callback` for the per-request callback, which has the interface's own body. */
  event_type: EventType | 'callback'
  /** The request that the event is about, for that request's log. */
  request_id?: string
  url: string
  host: string
  /** The trace of the call that made the request. */
  traceparent?: string
  /** The exact bytes (UTF-8 text) of every attempt. */
  body: string
  state: DeliveryState
  /** When the delivery is due, or when its lease ends. */
  next_at: Date
  /** Attempts with a known outcome in this round; a replay starts a new round. */
  tries: number
  /** Fencing token. Grows with every claim; a process that holds an older number can no longer write (T82). */
  fence: number
  /** Newest last, at most `ATTEMPTS_KEPT`. */
  attempts: Attempt[]
  created_at: Date
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}

/** Most attempts that the record of a queue keeps: a delivery, a push, a card. */
export const ATTEMPTS_KEPT = 50

/** Days after which a delivery that came to rest is deleted, body, log and all; until then it can be replayed. */
export const DAYS_AT_REST = 90

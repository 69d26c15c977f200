import type { AuditEntry } from '../domain/audit.ts'
import type { PushSubscription } from '../domain/push.ts'
import type { AttemptOutcome } from './delivery-ports.ts'

/** The service's P-256 key pair for Web Push (VAPID, RFC 8292), base64url: a point of 65 bytes, a scalar of 32. */
export interface VapidKeys {
  public_key: string
  private_key: string
}

/** What one attempt sends. */
export interface PushMessage {
  subscription: PushSubscription
  keys: VapidKeys
  /** Encrypted for the browser alone; the push service sees its length. */
  payload: string
  /** Seconds for which the push service keeps it while the browser is away. */
  ttl_seconds: number
  urgency: 'high' | 'normal'
  /** A later message with the same one replaces it at the push service; at most 32 characters of base64url. */
  topic: string
  at: Date
}

/** Sends pushes behind the address guard of webhooks (T1–T8). */
export interface PushSender {
  newKeys(): Promise<VapidKeys>
  /** Exactly one attempt; never throws. `unsigned`: the message cannot be encrypted for that subscription. */
  send(message: PushMessage): Promise<AttemptOutcome>
  close(): void
}

/** The key pair at rest. There is one, for ever: every subscription is bound to it. */
export interface SealedPushKey {
  public_key: string
  sealed_private_key: string
  created_at: Date
  audit: AuditEntry[]
}

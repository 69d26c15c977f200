import type { AuditRecord, AuditType } from '../domain/audit.ts'
import type { LimitBucket } from '../domain/limits.ts'
import type { ReceiptPayload, SignedReceipt } from '../domain/receipt.ts'

/** Time as the database tells it: the local clock corrected by the offset last read from `hello.localTime`. */
export interface Clock {
  now(): Date
}

/** Cryptographic randomness. */
export interface Random {
  bytes(length: number): Uint8Array
}

/** Signs receipts. `purpose` picks the key; the fresh signature is verified before it is returned (T74). */
export interface Signer {
  sign(purpose: 'decision' | 'decision-sandbox', payload: ReceiptPayload): Promise<SignedReceipt>
}

/** Structured log; the adapter redacts secrets. */
export interface Log {
  debug(fields: Record<string, unknown>, message: string): void
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

/** One bucket of the rate limiter after taking a point. */
export interface LimitState {
  allowed: boolean
  limit: number
  remaining: number
  /** When the window ends. */
  resetAt: Date
  /** Whole seconds until then, at least one. */
  retryAfter: number
}

/** Fixed windows of a minute. On a broken store `auth` denies and the others allow (T66). */
export interface RateLimiter {
  take(bucket: LimitBucket, subject: string): Promise<LimitState>
}

/** What a keyed hash is for; each purpose has its own key, so a hash made for one never matches another. */
export type HashPurpose =
  | 'api-key'
  | 'session'
  | 'device'
  | 'enrollment'
  | 'backup-code'
  | 'approver'
  | 'internal-token'
  | 'chat-link'
  | 'bootstrap'
  | 'bootstrap-email'
  | 'push-endpoint'

/** Everything done with the service's secrets; the secrets themselves stay inside. */
export interface Vault {
  /** Hex HMAC-SHA256 under the purpose's key. */
  hash(purpose: HashPurpose, value: string): string
  /** AES-256-GCM; `aad` names what the text belongs to, so that swapped texts do not open (T28). */
  seal(plaintext: Uint8Array, aad: string): string
  /** @throws SealError when the text, the key or the `aad` is another. */
  open(sealed: string, aad: string): Uint8Array
  /** 64 hex characters: the callback signing secret of a key, derived and never stored (security §5.3). */
  webhookSecret(keyId: string, version: number): string
}

/** The append-only audit trail: a sequence without gaps in which every record is linked to the one before. */
export interface AuditTrail {
  head(): Promise<AuditRecord | undefined>
  /** Which of these ids of entries are in the trail. */
  known(eids: readonly string[]): Promise<Set<string>>
  /**
   * Inserts in order and stops at the first whose `seq` or `eid` is taken: another process was at it, look again. What was
   * inserted before stays.
   * @returns false when it stopped
   */
  insert(records: readonly AuditRecord[]): Promise<boolean>
  /** Newest first. */
  list(query: {
    account_id?: string
    type?: AuditType
    subject?: string
    /** Exclusive: only records with a smaller number. */
    before?: number
    limit: number
  }): Promise<AuditRecord[]>
  /**
   * Those of a stretch of time, the latest first: by what they tell of, not by when the trail took them. `from` is inclusive,
   * `to` exclusive, `before` an exclusive position.
   */
  listByTime(query: {
    account_id: string
    type?: AuditType
    subject?: string
    from?: Date
    to?: Date
    before?: { at: Date; seq: number }
    limit: number
  }): Promise<AuditRecord[]>
  /** In order, from that number on. */
  scan(from: number, limit: number): Promise<AuditRecord[]>
}

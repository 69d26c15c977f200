import type { Account, AccountChannel } from '../domain/account.ts'
import type { ApiKey, Scope } from '../domain/api-key.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { ChatChannel } from '../domain/chat.ts'
import type { LimitBucket } from '../domain/limits.ts'
import type { ReceiptPayload, SignedReceipt } from '../domain/receipt.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { KeyPurpose } from '../signing/keys.ts'

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

export interface AccountStore {
  insert(account: Account): Promise<void>
  find(id: string): Promise<Account | undefined>
  /** The account this person owns and all that have them as a member, invited ones included; oldest first. */
  ofPerson(userId: string): Promise<Account[]>
  /** Replaces the named fields if nobody else wrote in between. @returns undefined when the version moved: read again. */
  change(
    id: string,
    version: number,
    fields: Partial<Pick<Account, 'name' | 'policy' | 'members'>>,
    audit: AuditEntry[],
  ): Promise<Account | undefined>
  /** Adds a channel, unless the account has it or has `most` already; the entry is written with it only. */
  addChannel(
    id: string,
    channel: AccountChannel,
    most: number,
    audit: AuditEntry,
  ): Promise<'added' | 'known' | 'full'>
  /** @returns false when the account does not have the channel. */
  removeChannel(id: string, channel: ChatChannel, audit: AuditEntry): Promise<boolean>
}

/** Counts requests per account and calendar month; over the quota nothing is counted. */
export interface QuotaStore {
  /** @returns false when `quota` is used up. `quota` 0 = no limit. `month` is `YYYY-MM`, UTC. */
  take(accountId: string, month: string, quota: number): Promise<boolean>
  /** Gives one back when the request was not made after all. */
  giveBack(accountId: string, month: string): Promise<void>
  /** How many were taken. */
  used(accountId: string, month: string): Promise<number>
  /** Forgets the counters of the months before this one. */
  prune(month: string): Promise<void>
}

/** First answers of POSTs with an `Idempotency-Key`; scoped by API key and route; kept 24 h. */
export interface IdempotencyStore {
  /**
   * Claims the key for this body. `fresh`: run it with `subject` as the new resource's id, then `finish` or `release`;
   * `subject` is the one given, or that of an attempt that died (a claim older than 60 s). `replay`: answer again as
   * stored. `mismatch`: another body. `running`: somebody is at it.
   */
  claim(claim: {
    scope: string
    key: string
    bodySha256: string
    subject: string
    at: Date
  }): Promise<
    | { state: 'fresh'; token: string; subject: string }
    | { state: 'replay'; status: number; body: string }
    | { state: 'mismatch' }
    | { state: 'running' }
  >
  finish(done: {
    scope: string
    key: string
    token: string
    answer: { status: number; body: string }
  }): Promise<void>
  release(claim: { scope: string; key: string; token: string }): Promise<void>
}

/**
 * Gathers the audit entries of verifications by anybody (interface, "Every verification attempt is logged") and writes them
 * in batches; `flush` writes all that wait. Nothing is dropped.
 */
export interface VerificationLog {
  record(entry: AuditEntry): void
  flush(): Promise<void>
}

/**
 * Audit entries of changes that have no document of their own (the others travel inside their document). One call is one
 * write; calling again with the same entries writes nothing twice.
 */
export interface AuditLog {
  append(...entries: AuditEntry[]): Promise<void>
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

/** What a look on behalf of a waiter finds: the request, and whether the key that asked for it has been revoked. */
export interface News {
  request: ApprovalRequest | undefined
  revoked: boolean
}

/** One waiter's eye on one request and on its own key. */
export interface Watch {
  /**
   * Looks as soon as the request may have another version than this, the key was revoked, `deadline` came or everybody is
   * told to stop. Nothing that happens between two calls is missed. @returns undefined when `signal` aborted
   */
  next(version: number, deadline: Date, signal: AbortSignal): Promise<News | undefined>
  close(): void
}

/** Wakes those who wait: at once for changes made by this process, by polling for those of others. */
export interface ChangeSignal {
  /** Tells waiters in this process that a request changed or a key was revoked. */
  changed(id: string): void
  /** True from shutdown on: nobody should wait any more. */
  stopped(): boolean
  /** Watches from now on: open it before the first read, and close it. */
  watch(requestId: string, keyId: string): Watch
}

/** Who calls with a key: an API key itself, or the internal token acting for one user through the account's pseudo-key. */
export interface Caller {
  key: ApiKey
  scopes: readonly Scope[]
  address: string
  /** Set for the internal token: the user named in `X-Approver-Email`; only this person decides. */
  internal_user_id?: string
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

/** A signing key at rest: its seed is sealed under the service's sealing key. */
export interface SealedKey {
  /** RFC 7638 thumbprint. */
  kid: string
  purpose: KeyPurpose
  /** 1, 2, 3 … per purpose; unique, so two rotations at once yield one key. */
  generation: number
  /** base64url of the raw 32 bytes. */
  public_key: string
  sealed_seed: string
  not_before: Date
  created_at: Date
  revoked_at: Date | null
  audit: AuditEntry[]
}

export interface SigningKeyStore {
  all(): Promise<SealedKey[]>
  /** @returns false when that generation exists already. */
  insert(key: SealedKey): Promise<boolean>
}

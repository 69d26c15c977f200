import type { AuditEntry, AuditPosition, AuditRecord, AuditType } from '../domain/audit.ts'
import type { BatchView, CardView, ConsentView, MovedView, PostView, ReplyView } from '../domain/card-view.ts'
import type { ChatChannel, ChatIdentity, ChatPlatform, MessageRef } from '../domain/chat.ts'
import type { OutboxEvent } from '../domain/event.ts'
import type { LimitBucket, LimitState } from '../domain/limits.ts'
import type { Mail } from '../domain/mail.ts'
import type { PushSubscription } from '../domain/push.ts'
import type { ReceiptPayload, SignedReceipt } from '../domain/receipt.ts'
import type { CallbackOutbox } from '../domain/request.ts'
import type { OutcomeClass } from '../domain/retry.ts'
import type { ChatSetup } from '../domain/views.ts'

/**
 * `now`: the database's time, for points in time: the local clock, corrected by the offset last read from `hello.localTime`. It may
 * step. `steady`: milliseconds of a clock that is never set, for everything that lasts a time; comparable within this process only.
 */
export interface Clock {
  now(): Date
  steady(): number
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

/** Fixed windows of a minute. On a broken store `auth` denies and the others allow (T66). */
export interface RateLimiter {
  /** @param times how many uses to count, one if left out */
  take(bucket: LimitBucket, subject: string, times?: number): Promise<LimitState>
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
  | 'mail-code'

/** Everything done with the service's secrets; the secrets themselves stay inside. */
export interface Vault {
  /** Hex HMAC-SHA256 under the purpose's key. */
  hash(purpose: HashPurpose, value: string): string
  /** AES-256-GCM; `aad` names what the text belongs to, so that swapped texts do not open (T28). */
  seal(plaintext: Uint8Array, aad: string): string
  /** @throws SealError when the text, the key or the `aad` is not the one it was sealed with */
  open(sealed: string, aad: string): Uint8Array
  /** 64 hex characters: the callback signing secret of a key, derived and never stored (security §5.3). */
  webhookSecret(keyId: string, version: number): string
  /** Fingerprints by name of secret: they only tell two secrets apart. A wrong sealing key needs none: nothing opens. */
  fingerprints(): Readonly<Record<string, string>>
}

/** The append-only audit trail: a sequence without gaps in which every record is linked to the one before. */
export interface AuditTrail {
  /** The newest record. @throws when it cannot be read: nothing can be appended, as a new record must link to it */
  head(): Promise<AuditRecord | undefined>
  /** Returns those of these entry ids that are in the trail. */
  known(eids: readonly string[]): Promise<Set<string>>
  /**
   * Inserts in order and stops at the first record whose `seq` or `eid` is taken: another process was faster, look again. The
   * records inserted before it stay.
   * @returns how many were inserted
   */
  insert(records: readonly AuditRecord[]): Promise<number>
  /**
   * Lists records, newest first. Those of a stretch of time are ordered by when the thing happened, not by when the trail took
   * the entry. `from` is inclusive, `to` exclusive, `before` an exclusive position.
   */
  list(query: {
    account_id?: string
    type?: AuditType
    /** One id, or any of several. */
    subject?: string | readonly string[]
    from?: Date
    to?: Date
    before?: AuditPosition
    limit: number
  }): Promise<AuditRecord[]>
  /**
   * Erases the contents of these records, salt and all; their hashes stay, and that of the subject joins them. An entry must say so
   * before.
   */
  erase(records: readonly (Pick<AuditRecord, 'seq'> & { subject_sha256: string })[]): Promise<void>
  /** Finds an erased record by the hash of its subject: nothing else still says what it was about. */
  findErased(subject_sha256: string): Promise<AuditRecord | undefined>
  /** Reads records in order, from that number on. */
  scan(from: number, limit: number): Promise<AuditRecord[]>
}

/** The outcome of one call to a platform. */
export type ChatOutcome<T> =
  | { ok: true; value: T; duration_ms: number }
  | {
      ok: false
      /** `unreachable`: trying again will not help. `unavailable`: the workspace accepts nothing from the app at all. */
      outcome: 'unreachable' | 'unavailable' | 'rate_limited' | 'timeout' | 'failed'
      /** Whole seconds the platform asked for. */
      retry_after?: number
      /** The platform's own error code, for the log. */
      code?: string
      /** `unreachable` only: the platform may say so for a while of people and places that exist, so the call is worth repeating. */
      passing?: true
      /** The message that was to be edited or answered no longer exists. */
      gone?: true
      /** The call may have taken effect all the same: the answer was lost. */
      perhaps?: true
      duration_ms: number
    }

/** Where a card goes: to a person, or to a channel of a workspace. */
export type ChatAddress = ChatIdentity | ChatChannel

/** A chat platform as `flow` uses it. Every call is exactly one attempt, ends by a deadline and never throws. */
export interface ChatPort {
  readonly platform: ChatPlatform
  /** `lookup` reads our own store: its answers cost nothing, and are valid for the moment only. */
  readonly lookupIsLocal?: true
  /**
   * Lists the workspaces to which this port posts the account's cards: with a single token, those of the token; else those that
   * the account installed. Holds `UNKNOWN_TENANT` until the platform has named its workspace: cards are made meanwhile, and wait.
   */
  tenantsOf(accountId: string): Promise<string[]>
  /** How the platform is set up for the account, for its owner to see. Absent: the operator set up what `tenantsOf` lists. */
  setupFor?(accountId: string): Promise<ChatSetup>
  /** Looks a person up by e-mail, only to address a card (T37). */
  lookup(tenant: string, email: string): Promise<ChatOutcome<ChatIdentity | undefined>>
  /** @param card its id, by which `find` recognises the message, and when the platform last accepted one of this card */
  post(to: ChatAddress, view: PostView, card?: { id: string; after?: Date }): Promise<ChatOutcome<MessageRef>>
  /** Looks for a card that may have been posted there since then; `unknown` where the app may not look. */
  find?(to: ChatAddress, card: string, since: Date): Promise<ChatOutcome<MessageRef | 'none' | 'unknown'>>
  update(
    message: MessageRef,
    view: CardView | BatchView | ConsentView | MovedView,
  ): Promise<ChatOutcome<void>>
  reply(message: MessageRef, view: ReplyView): Promise<ChatOutcome<void>>
}

/** What the writes to a document left to be carried on: events to tell webhooks, entries to copy to the audit trail. */
export interface OutboxEntry {
  /** Id of the document. */
  id: string
  /** Changes with every write that adds to the outbox. */
  token: string
  account_id?: string
  events: OutboxEvent[]
  audit: AuditEntry[]
  /** On requests only: a member is to be told the outcome. */
  toldTo?: string
  /** No webhook and no browser is to be looked for: none had ever existed when the document was written. */
  noListeners?: boolean
  /** On requests and deliveries: the trace of the create, which everything that is sent about it carries on. */
  traceparent?: string
  /** On requests only: the callback that the deciding write left. */
  callback?: CallbackOutbox & { request_id: string; api_key_id: string }
}

/** A collection whose documents have an outbox. */
export interface OutboxSource {
  name: string
  /** Reads the outbox of a document of this collection. */
  read(document: object): OutboxEntry
  /** Reads due entries by token, ascending. `after`: only greater ones, so that entries that cannot be settled do not recur. */
  due(limit: number, after?: string): Promise<OutboxEntry[]>
  /** Removes each entry to which nothing was added since it was read; the others stay due. */
  settle(entries: readonly OutboxEntry[]): Promise<void>
}

/** The outcome of one attempt; the response's body is neither kept nor passed on (T7). */
export interface AttemptOutcome {
  outcome: OutcomeClass
  duration_ms: number
  /** Whole seconds, from the `Retry-After` header of an answer that is not 2xx. */
  retry_after?: number
  /** Resolves when the connection is closed: the receiver may hold it open after its answer. Absent when it is closed already. */
  closed?: Promise<void>
}

/** Sends webhooks behind the address guard (T1–T8). */
export interface WebhookSender {
  /** Exactly one attempt; never throws. The first secret is the current one. */
  send(message: {
    url: string
    eventId: string
    body: string
    at: Date
    secrets: readonly [string, ...string[]]
    traceparent?: string
  }): Promise<AttemptOutcome>
  close(): void
}

/** Sends checkpoints to witnesses behind the address guard. */
export interface OfferSender {
  /** Exactly one attempt; never throws. `answer`: of a response whose body could be read. */
  send(message: {
    url: string
    body: string
    at: Date
  }): Promise<{ outcome: OutcomeClass; answer?: { type: string; body: string } }>
  close(): void
}

/** Sends mails by the operator's relay. */
export interface MailSender {
  /** The relay, for the limit per host. */
  readonly host: string
  /** Exactly one attempt; never throws. `id`: of the message, the same whenever it is sent again; `thread`: that of others it belongs to. */
  send(message: { to: string; mail: Mail; id: string; thread: string; at: Date }): Promise<AttemptOutcome>
  close(): void
}

/** Checks an address that a caller wants called, before anything is stored: pure, without DNS. */
export interface TargetUrls {
  /** `href`: the parsed form, the only one that is stored and used. `problem`: what is wrong, for `invalid_field`. */
  read(text: string): { href: string; host: string } | { problem: string }
}

/** The service's P-256 key pair for Web Push (VAPID, RFC 8292), base64url: a point of 65 bytes, a scalar of 32. */
export interface VapidKeys {
  public_key: string
  private_key: string
}

/** The message that one attempt sends. */
export interface PushMessage {
  subscription: PushSubscription
  keys: VapidKeys
  /** Encrypted for the browser alone; the push service sees only its length. */
  payload: string
  /** Seconds for which the push service keeps it while the browser is away. */
  ttl_seconds: number
  /** A later message with the same topic replaces this one at the push service; at most 32 characters of base64url. */
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

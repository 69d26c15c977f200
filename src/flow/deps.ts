import type { AuditActor, AuditEntry } from '../domain/audit.ts'
import type { Tally } from '../domain/overview.ts'
import type { ApprovalRequest, Retention } from '../domain/request.ts'
import type {
  AuditTrail,
  ChatPort,
  Clock,
  Log,
  MailSender,
  OfferSender,
  OutboxSource,
  PushSender,
  Random,
  Signer,
  TargetUrls,
  VapidKeys,
  Vault,
  WebhookSender,
} from '../ports/ports.ts'
import type { Tracing } from '../ports/tracing.ts'
import type { KeyPurpose, PublicKeyRecord, SigningKey } from '../signing/key-record.ts'
import type { KeyRing } from '../signing/keys.ts'
import type { NoteKey } from '../signing/log/note.ts'
import type { SessionTokens } from '../signing/session-token.ts'
import type { ChangeSignal } from '../store/requests/change-signal.ts'
import type { InboxSignal } from '../store/requests/inbox-signal.ts'
import type { KeySignal } from '../store/requests/key-signal.ts'
import type { Stores } from '../store/stores.ts'

/** The part of the configuration that the code in this folder uses. */
interface Settings {
  /** The service's public origin: audience of intents and base of links. */
  baseUrl: string
  production: boolean
  /** Whether a decision from the address that made the request is pointed out. */
  noteSameAddress: boolean
  retention: Retention
  /** Whether anyone may read the entries of the log, which are hashes. */
  logEntries: 'public' | 'private'
  /** Milliseconds after which an attempt to send a webhook ends by itself. */
  attemptMs: number
}

/** The relying party of this service's passkeys. Exactly one pair: lists would let an origin meet another's id (T32). */
export interface RelyingParty {
  /** BASE_URL's origin. */
  origin: string
  /** The origin's host name. */
  rpId: string
  /** The name that authenticators show. */
  name: string
}

/** What is known about models of authenticators; without a metadata file, nothing. */
export interface AuthenticatorModels {
  /** Can any authenticator prove its model here? */
  readonly known: boolean
  /** The model's name; undefined where it is not known. */
  nameOf(aaguid: string | undefined): string | undefined
  /**
   * Do these certificates (DER, leaf first) lead to a root of that model, and does the model still count? Under a root that
   * other models have too, the leaf must also name the model, or a lesser one of its maker could pass for it (WebAuthn L3 §8.2.1).
   */
  vouchFor(aaguid: string, certificates: readonly Uint8Array[]): boolean
  /** Has the model been reported as broken? */
  isBroken(aaguid: string | undefined): boolean
}

/** `accept`: from now on the store expects the settings of this process; `keep`: those it was made with. */
export type KeySettings = 'keep' | 'accept'

/** The service's signing keys: loaded, made, rotated. */
export interface KeyKeeper {
  /** Keys as last loaded. */
  ring(): KeyRing
  /** Reads the stored keys again: another process may have rotated. */
  reload(): Promise<KeyRing>
  /**
   * Finds the key of this id, whatever its state. Another process may just have made a key of an unknown id, so the store is
   * read again; at most once a second, as anyone can send unknown ids.
   */
  find(kid: string): Promise<PublicKeyRecord | undefined>
  /** Names of settings in which the process that made the newest key differed from this one, when keys were last loaded. */
  changed(): string[]
  /** Makes the first key of every purpose that has none. Called at every start. */
  ensure(): Promise<void>
  /** Adds the next key of a purpose; it signs from `notBefore` on. The old one stays published and verifies for ever. */
  rotate(purpose: KeyPurpose, notBefore: Date, actor: AuditActor, settings?: KeySettings): Promise<SigningKey>
  /**
   * Revokes a key that others may have: what it signed from `since` on is no longer valid, and it signs nothing more (T73). A
   * later call can name an earlier time.
   * @returns the key as it was before; `refused` if not revoked, such as `signs` while a service may still sign with it
   */
  revoke(kid: string, since: Date, actor: AuditActor): Promise<Revocation>
}

type Revocation =
  | { refused: 'unknown' }
  | { refused: 'revoked' | 'signs'; key: PublicKeyRecord }
  | { refused?: undefined; key: PublicKeyRecord }

/** Records public verifications in the audit log (interface, "Every verification attempt is logged"). Nothing is dropped. */
export interface VerificationLog {
  record(entry: AuditEntry): void
  /** For an attempt that the rate limit refused: all attempts of one asker are counted in the first's entry. */
  recordRefused(entry: AuditEntry): void
  /** Writes all waiting entries. */
  flush(): Promise<void>
}

/** The figures of accounts, kept in memory (`requests/overview.ts`). */
export interface Overviews {
  /** Returns the figures of the last 90 days by day; days without requests are left out. Looks at the same moment share one. */
  byDay(accountId: string): Promise<ReadonlyMap<string, Tally>>
}

/** The key pair that identifies this deployment to push services (VAPID, RFC 8292). */
export interface PushKeyKeeper {
  /** True when the stored pair was sealed under another key: nothing is pushed, and everything else goes on. */
  isOff(): boolean
  /** Returns the pair; call `ensure` first. @throws Refusal `unavailable` */
  current(): VapidKeys
  /** Called at every start: makes the pair if there is none. Two processes that start at once agree on one pair. */
  ensure(): Promise<void>
}

type PeopleStores = Pick<
  Stores,
  'users' | 'challenges' | 'sessions' | 'enrollments' | 'attempts' | 'accounts' | 'pushDevices' | 'audit'
>

/** Everything that the code in `people` uses. */
export interface PeopleDeps extends PeopleStores {
  vault: Vault
  tokens: SessionTokens
  clock: Clock
  random: Random
  log: Log
  party: RelyingParty
  models: AuthenticatorModels
}

/** Everything that the functions in this folder can ask for. Only a function that somebody calls with less names its members by `Pick`. */
export interface FlowDeps extends PeopleDeps, Stores {
  verifications: VerificationLog
  /** Calls with an `Idempotency-Key` or `reuse` that make a request in this process right now, by their marks (`create-request.ts`). */
  creating: Map<string, Promise<{ request: ApprovalRequest; found?: 'replayed' | 'reused' }>>
  overviews: Overviews
  changes: Omit<ChangeSignal, 'stop'>
  inbox: Pick<InboxSignal, 'watch'>
  keyChanges: Pick<KeySignal, 'watch'>
  signer: Signer
  keys: KeyKeeper
  tracing: Tracing
  pusher: PushSender
  /** Undefined: this service sends no e-mail. */
  mailer: MailSender | undefined
  pushKey: PushKeyKeeper
  /** The configured chat platforms, one port each. */
  chats: readonly ChatPort[]
  trail: AuditTrail
  /** Every collection whose documents have an outbox. */
  outbox: readonly OutboxSource[]
  sender: WebhookSender
  /** Sends checkpoints to the witnesses of the log. */
  offers: OfferSender
  /** Who is asked to cosign the log. `url`: without a slash at the end. */
  witnesses: readonly { key: NoteKey; vkey: string; url: string }[]
  targets: TargetUrls
  settings: Settings
  /** Does the error mean that the store is unavailable? The operation may have been done or not, and may be tried again. */
  storeIsDown(error: unknown): boolean
}

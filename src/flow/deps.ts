import type { SessionTokens } from '../signing/session-token.ts'
import type { ChangeSignal } from '../store/change-signal.ts'
import type { InboxSignal } from '../store/inbox-signal.ts'
import type { Stores } from '../store/stores.ts'
import type { VerificationLog } from './audit/verification-log.ts'
import type { KeyKeeper } from './keep-keys.ts'
import type { AuthenticatorModels } from './people/authenticator-models.ts'
import type {
  AuditTrail,
  ChatPort,
  Clock,
  Log,
  OutboxSource,
  PushSender,
  Random,
  Signer,
  TargetUrls,
  Vault,
  WebhookSender,
} from './ports.ts'
import type { PushKeyKeeper } from './push/push-secrets.ts'

/** What flow knows of the configuration. */
interface Settings {
  /** The service's public origin: audience of intents and base of links. */
  baseUrl: string
  production: boolean
  /** A decision from the address that asked is pointed out. */
  noteSameAddress: boolean
  /** Milliseconds after which an attempt to send a webhook ends by itself. */
  attemptMs: number
}

/** The one place passkeys of this service belong to. Exactly one pair: lists would let an origin meet another's id (T32). */
export interface RelyingParty {
  /** BASE_URL's origin. */
  origin: string
  /** Its host name. */
  rpId: string
  /** What authenticators show. */
  name: string
}

type PeopleStores = Pick<
  Stores,
  'users' | 'challenges' | 'sessions' | 'enrollments' | 'attempts' | 'accounts' | 'pushDevices' | 'audit'
>

/** Everything the people part works with. A function that needs one or two things of it names them by `Pick`. */
export interface PeopleDeps extends PeopleStores {
  vault: Vault
  tokens: SessionTokens
  clock: Clock
  random: Random
  log: Log
  party: RelyingParty
  models: AuthenticatorModels
}

/** Everything the verbs of this folder can ask for; a function that needs one or two of them names them. */
export interface FlowDeps extends PeopleDeps, Stores {
  verifications: VerificationLog
  changes: Omit<ChangeSignal, 'stop'>
  inbox: Pick<InboxSignal, 'watch'>
  signer: Signer
  keys: KeyKeeper
  pusher: PushSender
  pushKey: PushKeyKeeper
  /** The configured chat platforms, one port each. */
  chats: readonly ChatPort[]
  trail: AuditTrail
  /** Every collection whose documents have an outbox. */
  outbox: readonly OutboxSource[]
  sender: WebhookSender
  targets: TargetUrls
  settings: Settings
  /** Does the error mean that the store cannot do it now? Whether it was done is not known then; the same may be tried again. */
  storeIsDown(error: unknown): boolean
  /** Does the error mean that what the store holds is not as it was written? */
  storeIsDamaged(error: unknown): boolean
}

import type { SessionTokens } from '../signing/session-token.ts'
import type { ChangeSignal } from '../store/requests/change-signal.ts'
import type { InboxSignal } from '../store/requests/inbox-signal.ts'
import type { Stores } from '../store/stores.ts'
import type { VerificationLog } from './audit/verification-log.ts'
import type { KeyKeeper } from './keys/keep-keys.ts'
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
} from '../ports/ports.ts'
import type { PushKeyKeeper } from './tell/push-secrets.ts'

/** The part of the configuration that the code in this folder uses. */
interface Settings {
  /** The service's public origin: audience of intents and base of links. */
  baseUrl: string
  production: boolean
  /** Whether a decision from the address that made the request is pointed out. */
  noteSameAddress: boolean
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

type PeopleStores = Pick<
  Stores,
  'users' | 'challenges' | 'sessions' | 'enrollments' | 'attempts' | 'accounts' | 'pushDevices' | 'audit'
>

/** Everything that the code in `people` uses. A function that needs only one or two members names them by `Pick`. */
export interface PeopleDeps extends PeopleStores {
  vault: Vault
  tokens: SessionTokens
  clock: Clock
  random: Random
  log: Log
  party: RelyingParty
  models: AuthenticatorModels
}

/** Everything that the functions in this folder can ask for; a function that needs one or two members names them by `Pick`. */
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
  /** Does the error mean that the store is unavailable? The operation may have been done or not, and may be tried again. */
  storeIsDown(error: unknown): boolean
  /** Does the error mean that stored data is no longer as it was written? */
  storeIsDamaged(error: unknown): boolean
}

import type { ApiKeyStore } from '../store/api-keys.ts'
import type { BootstrapStore } from '../store/bootstraps.ts'
import type { ChangeSignal } from '../store/change-signal.ts'
import type { IdempotencyStore } from '../store/idempotency.ts'
import type { InboxSignal } from '../store/inbox-signal.ts'
import type { PlaceStore } from '../store/places.ts'
import type { QuotaStore } from '../store/quotas.ts'
import type { RequestHistory } from '../store/request-history.ts'
import type { RequestStore } from '../store/requests.ts'
import type { VerificationLog } from './audit/verification-log.ts'
import type { CardStore, ChatInstallationStore, ChatLinkStore, ChatPort, SeenStore } from './chat-ports.ts'
import type { DeliveryStore, TargetUrls, TraceSource, WebhookSender, WebhookStore } from './delivery-ports.ts'
import type { KeyKeeper } from './keep-keys.ts'
import type { PeopleDeps } from './people/people-deps.ts'
import type { AuditTrail, Signer } from './ports.ts'
import type { PushKeyKeeper } from './push/push-secrets.ts'
import type { PushSender, PushStore } from './push-ports.ts'

/** What flow knows of the configuration. */
interface Settings {
  /** The service's public origin: audience of intents and base of links. */
  baseUrl: string
  production: boolean
  /** Milliseconds after which an attempt to send a webhook ends by itself. */
  attemptMs: number
}

/** Everything the verbs of this folder can ask for; each takes only the part it names. */
export interface FlowDeps extends PeopleDeps {
  requests: RequestStore
  apiKeys: ApiKeyStore
  bootstraps: BootstrapStore
  quotas: QuotaStore
  places: PlaceStore
  history: RequestHistory
  idempotency: IdempotencyStore
  verifications: VerificationLog
  changes: Omit<ChangeSignal, 'stop'>
  inbox: Pick<InboxSignal, 'watch'>
  signer: Signer
  keys: KeyKeeper
  webhooks: WebhookStore
  deliveries: DeliveryStore
  cards: CardStore
  pushes: PushStore
  pusher: PushSender
  pushKey: PushKeyKeeper
  chatLinks: ChatLinkStore
  installations: ChatInstallationStore
  seen: SeenStore
  /** The configured chat platforms, one port each. */
  chats: readonly ChatPort[]
  trail: AuditTrail
  /** Every collection whose documents carry traces. */
  sources: readonly TraceSource[]
  sender: WebhookSender
  targets: TargetUrls
  settings: Settings
}

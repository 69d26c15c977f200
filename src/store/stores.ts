import type { Clock } from '../flow/ports.ts'
import { createAccountStore } from './accounts.ts'
import { createApiKeyStore } from './api-keys.ts'
import { createAttemptStore } from './attempts.ts'
import { createAuditInbox } from './audit-inbox.ts'
import { createBootstrapStore } from './bootstraps.ts'
import { createCardStore } from './cards.ts'
import { createChallengeStore } from './challenges.ts'
import { createChatInstallationStore } from './chat-installations.ts'
import { createChatLinkStore } from './chat-links.ts'
import { createSeenStore } from './chat-seen.ts'
import type { StoreConnection } from './connect.ts'
import { createDeliveryStore } from './deliveries.ts'
import { createEnrollmentStore } from './enrollments.ts'
import { createIdempotencyStore } from './idempotency.ts'
import type { Wake } from './outbox.ts'
import { createPushDeviceStore } from './push-devices.ts'
import { createPushStore } from './pushes.ts'
import { createQuotaStore } from './quotas.ts'
import { createRequestHistory } from './request-history.ts'
import { createRequestStore } from './requests.ts'
import { createSessionStore, type SessionLimits } from './sessions.ts'
import { createUserStore } from './users.ts'
import { createWebhookStore } from './webhooks.ts'

export type Stores = ReturnType<typeof createStores>

/** Creates the stores that verbs use, each under the name that verbs know it by. */
export function createStores(
  connection: StoreConnection,
  clock: Clock,
  wake: Wake,
  wakeCards: () => void,
  sessions: SessionLimits,
) {
  return {
    requests: createRequestStore(connection, wake, clock),
    apiKeys: createApiKeyStore(connection, wake),
    history: createRequestHistory(connection, clock),
    quotas: createQuotaStore(connection),
    idempotency: createIdempotencyStore(connection),
    users: createUserStore(connection, wake),
    challenges: createChallengeStore(connection),
    sessions: createSessionStore(connection, wake, sessions),
    enrollments: createEnrollmentStore(connection),
    attempts: createAttemptStore(connection, clock),
    bootstraps: createBootstrapStore(connection, wake),
    accounts: createAccountStore(connection, wake),
    audit: createAuditInbox(connection, wake),
    installations: createChatInstallationStore(connection),
    chatLinks: createChatLinkStore(connection),
    seen: createSeenStore(connection, clock),
    webhooks: createWebhookStore(connection, wake),
    deliveries: createDeliveryStore(connection, wake),
    cards: createCardStore(connection, wake, wakeCards),
    pushes: createPushStore(connection, wake),
    pushDevices: createPushDeviceStore(connection, wake),
  }
}

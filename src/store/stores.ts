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

/** Returns the `Wake` that the store of that collection calls. */
export type WakeFor = (collection: string) => Wake

export type Stores = ReturnType<typeof createStores>

/** Creates the stores that verbs use, each under the name that verbs know it by. */
export function createStores(
  connection: StoreConnection,
  clock: Clock,
  wakeFor: WakeFor,
  sessions: SessionLimits,
) {
  return {
    requests: createRequestStore(connection, wakeFor('requests'), clock),
    apiKeys: createApiKeyStore(connection, wakeFor('api_keys')),
    history: createRequestHistory(connection, clock),
    quotas: createQuotaStore(connection),
    idempotency: createIdempotencyStore(connection),
    users: createUserStore(connection, wakeFor('users')),
    challenges: createChallengeStore(connection),
    sessions: createSessionStore(connection, wakeFor('sessions'), sessions),
    enrollments: createEnrollmentStore(connection),
    attempts: createAttemptStore(connection, clock),
    bootstraps: createBootstrapStore(connection, wakeFor('bootstraps')),
    accounts: createAccountStore(connection, wakeFor('accounts')),
    audit: createAuditInbox(connection, wakeFor('audit_inbox')),
    installations: createChatInstallationStore(connection),
    chatLinks: createChatLinkStore(connection),
    seen: createSeenStore(connection, clock),
    webhooks: createWebhookStore(connection, wakeFor('webhooks')),
    deliveries: createDeliveryStore(connection, wakeFor('deliveries')),
    cards: createCardStore(connection, wakeFor('cards')),
    pushes: createPushStore(connection, wakeFor('pushes')),
    pushDevices: createPushDeviceStore(connection, wakeFor('push_devices')),
  }
}

import type { Clock } from '../ports/ports.ts'
import { createApiKeyStore } from './api-keys.ts'
import { createAuditInbox } from './audit/audit-inbox.ts'
import { createLogStore } from './audit/log.ts'
import { createCardStore } from './chat/cards.ts'
import { createChatInstallationStore } from './chat/chat-installations.ts'
import { createChatLinkStore } from './chat/chat-links.ts'
import { createSeenStore } from './chat/chat-seen.ts'
import { createDeliveryStore } from './delivery/deliveries.ts'
import { createPushDeviceStore } from './delivery/push-devices.ts'
import { createPushStore } from './delivery/pushes.ts'
import { createWebhookStore } from './delivery/webhooks.ts'
import type { StoreConnection } from './mongo/connect.ts'
import type { Wake } from './mongo/outbox.ts'
import { createAccountStore } from './people/accounts.ts'
import { createAttemptStore } from './people/attempts.ts'
import { createBootstrapStore } from './people/bootstraps.ts'
import { createEnrollmentStore } from './people/enrollments.ts'
import { createPersonErasure } from './people/person-erasure.ts'
import { createSessionStore, type SessionLimits } from './people/sessions.ts'
import { createUserStore } from './people/users.ts'
import { createAttachmentStore } from './requests/attachments.ts'
import { createChallengeStore } from './requests/challenges.ts'
import { createQuotaStore } from './requests/quotas.ts'
import { createRequestErasure } from './requests/request-erasure.ts'
import { createRequestFigures } from './requests/request-figures.ts'
import { createRequestHistory } from './requests/request-history.ts'
import { createRequestStore } from './requests/requests.ts'
import { createRestoreStore } from './restores.ts'

export type Stores = ReturnType<typeof createStores>

/** Creates the stores that verbs use, each under the name that verbs know it by. */
export function createStores(
  connection: StoreConnection,
  clock: Clock,
  wake: Wake,
  wakeCards: () => void,
  sessions: SessionLimits,
) {
  const restores = createRestoreStore(connection)
  return {
    restores,
    attachments: createAttachmentStore(connection),
    requests: createRequestStore(connection, wake, clock, restores.holding),
    erasure: createRequestErasure(connection, wake),
    personErasure: createPersonErasure(connection),
    apiKeys: createApiKeyStore(connection, wake),
    history: createRequestHistory(connection, clock),
    figures: createRequestFigures(connection),
    quotas: createQuotaStore(connection),
    users: createUserStore(connection, wake),
    challenges: createChallengeStore(connection),
    sessions: createSessionStore(connection, wake, sessions),
    enrollments: createEnrollmentStore(connection),
    attempts: createAttemptStore(connection, clock),
    bootstraps: createBootstrapStore(connection, wake),
    accounts: createAccountStore(connection, wake),
    audit: createAuditInbox(connection, wake),
    logs: createLogStore(connection),
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

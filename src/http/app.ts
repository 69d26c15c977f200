import express, { type Express } from 'express'
import { createEdge } from './edge.ts'
import { errorResponse, unknownPath } from './error-response.ts'
import type { HttpDeps } from './http-deps.ts'
import { literalPath } from './middleware/literal-path.ts'
import { logRequests } from './middleware/log-requests.ts'
import { noStore } from './middleware/no-store.ts'
import { requestId } from './middleware/request-id.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { accountViewRoutes } from './routes/account-view.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { auditRoutes } from './routes/audit.ts'
import { batchDecisionRoutes } from './routes/batch-decisions.ts'
import { bootstrapRoutes } from './routes/bootstrap.ts'
import { chatRoutes } from './routes/chat.ts'
import { chatLinkRoutes } from './routes/chat-links.ts'
import { consentRoutes } from './routes/consents.ts'
import { decisionRoutes } from './routes/decisions.ts'
import { deliveryRoutes } from './routes/deliveries.ts'
import { enrollmentRoutes } from './routes/enrollment.ts'
import { healthRoutes } from './routes/health.ts'
import { inboxEventRoutes } from './routes/inbox-events.ts'
import { meRoutes } from './routes/me.ts'
import { memberRoutes } from './routes/members.ts'
import { membershipRoutes } from './routes/memberships.ts'
import { openapiRoutes } from './routes/openapi.ts'
import { ownSessionRoutes } from './routes/own-sessions.ts'
import { pageRoutes } from './routes/pages.ts'
import { policyRoutes } from './routes/policy.ts'
import { profileRoutes } from './routes/profile.ts'
import { pushRoutes } from './routes/push.ts'
import { serviceWorkerRoutes } from './routes/service-worker.ts'
import { sessionRoutes } from './routes/session.ts'
import { verificationRoutes } from './routes/verification.ts'
import { webhookSecretRoutes } from './routes/webhook-secret.ts'
import { webhookRoutes } from './routes/webhooks.ts'

/** The whole HTTP surface, one line a mount, in the order in which requests meet it. */
export function createHttpApp(deps: HttpDeps): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', deps.trustProxy)
  app.set('query parser', 'simple')
  app.use(requestId)
  app.use(securityHeaders(deps.settings.baseUrl.startsWith('https:')))
  app.use(logRequests(deps.log))
  app.use(literalPath)
  app.use(healthRoutes(deps))
  const edge = createEdge(deps)
  for (const mount of deps.mounts) mount(app, edge)
  app.use('/api', noStore)
  app.use(verificationRoutes(deps))
  app.use('/api/v1', decisionRoutes(deps))
  app.use('/api/v1/approvals', batchDecisionRoutes(deps))
  app.use('/api/v1', deliveryRoutes(deps))
  app.use('/api/v1/approvals', approvalRoutes(deps))
  app.use('/api/v1/bootstrap', bootstrapRoutes(deps))
  app.use('/api/v1/session', sessionRoutes(deps))
  app.use('/api/v1/enrollment', enrollmentRoutes(deps))
  app.use('/api/v1/chat-links', chatLinkRoutes(deps))
  app.use('/api/v1', chatRoutes(deps))
  app.use('/api/v1/me/push', pushRoutes(deps))
  app.use('/api/v1/me', meRoutes(deps))
  app.use('/api/v1/me', profileRoutes(deps))
  app.use('/api/v1/me', membershipRoutes(deps))
  app.use('/api/v1/me/pending/events', inboxEventRoutes(deps))
  app.use('/api/v1/me/sessions', ownSessionRoutes(deps))
  app.use('/api/v1/account', accountViewRoutes(deps))
  app.use('/api/v1/account/api-keys', apiKeyRoutes(deps))
  app.use('/api/v1/account/audit', auditRoutes(deps))
  app.use('/api/v1/account/bootstrap', consentRoutes(deps))
  app.use('/api/v1/account/members', memberRoutes(deps))
  app.use('/api/v1/account/policy', policyRoutes(deps))
  app.use('/api/v1/account/webhook-secret', webhookSecretRoutes(deps))
  app.use('/api/v1/account/webhooks', webhookRoutes(deps))
  app.use(openapiRoutes(deps))
  app.use(serviceWorkerRoutes(deps))
  app.use(pageRoutes(deps))
  app.use(unknownPath)
  app.use(errorResponse(deps))
  return app
}

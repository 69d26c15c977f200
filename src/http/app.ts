import express, { type Express, type RequestHandler } from 'express'
import { createEdge } from './edge.ts'
import { errorResponse, unknownPath } from './error-response.ts'
import type { HttpDeps } from './http-deps.ts'
import { logRequests, requestId } from './middleware/log-requests.ts'
import { noStore, securityHeaders } from './middleware/security-headers.ts'
import { accountViewRoutes } from './routes/account.ts'
import { apiKeyRoutes, webhookSecretRoutes } from './routes/api-keys.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { auditRoutes } from './routes/audit.ts'
import { bootstrapRoutes, consentRoutes } from './routes/bootstrap.ts'
import { chatLinkRoutes, chatRoutes } from './routes/chat.ts'
import { batchDecisionRoutes, decisionRoutes, inboxEventRoutes } from './routes/decisions.ts'
import { enrollmentRoutes } from './routes/enrollment.ts'
import { membershipRoutes, meRoutes, profileRoutes } from './routes/me.ts'
import { memberRoutes, policyRoutes } from './routes/members.ts'
import { pageRoutes, serviceWorkerRoutes } from './routes/pages.ts'
import { pushRoutes } from './routes/push.ts'
import { verificationRoutes } from './routes/receipts.ts'
import { healthRoutes, openapiRoutes } from './routes/service.ts'
import { ownSessionRoutes, sessionRoutes } from './routes/session.ts'
import { deliveryRoutes, webhookRoutes } from './routes/webhooks.ts'

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

/** A path that is no percent-encoding (`%zz`) is read letter by letter: routes then meet it as any other malformed id (T68). */
const literalPath: RequestHandler = (request, _response, next) => {
  const [path = '', ...query] = request.url.split('?')
  if (!isDecodable(path)) request.url = [path.replaceAll('%', '%25'), ...query].join('?')
  next()
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

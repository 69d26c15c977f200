import type { Express, Request, RequestHandler, Response } from 'express'
import express from 'express'
import { Refusal } from '../domain/errors.ts'
import { isProven, isRecentlyProven } from '../flow/people/recent-proof.ts'
import { DOCS_STYLE_PATH } from './docs/assets.ts'
import { html } from './docs/html.ts'
import { errorResponse, setRefusalHeaders, unknownPath } from './error-response.ts'
import type { Edge, HttpDeps, Link, Notice } from './http-deps.ts'
import { applyLimit } from './middleware/limit.ts'
import { decoded, logRequests, requestId } from './middleware/log-requests.ts'
import { noStore, securityHeaders } from './middleware/security-headers.ts'
import { asOwner, sessionOfBrowser } from './middleware/session.ts'
import { accountRoutes } from './routes/account.ts'
import { approvalRoutes, verificationRoutes } from './routes/approvals.ts'
import { auditRoutes } from './routes/audit.ts'
import { bootstrapRoutes, consentRoutes } from './routes/bootstrap.ts'
import { chatRoutes } from './routes/chat.ts'
import { decisionRoutes } from './routes/decisions.ts'
import { logRoutes } from './routes/log.ts'
import { meRoutes } from './routes/me.ts'
import { pageRoutes, serviceWorkerRoutes } from './routes/pages.ts'
import { healthRoutes, mcpRoutes, openapiRoutes } from './routes/service.ts'
import { enrollmentRoutes, ownSessionRoutes, sessionRoutes } from './routes/session.ts'
import { deliveryRoutes, webhookRoutes } from './routes/webhooks.ts'

/** Creates the whole HTTP surface: one line per mount, in the order in which a request passes them. */
export function createHttpApp(deps: HttpDeps): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', deps.trustProxy)
  app.set('query parser', 'simple')
  app.use(requestId)
  app.use(securityHeaders(deps.settings.baseUrl.startsWith('https:')))
  app.use(logRequests(deps))
  app.use(literalPath)
  app.use(healthRoutes(deps))
  const edge = createEdge(deps)
  for (const mount of deps.mounts) mount(app, edge)
  app.use(['/api', '/mcp'], noStore)
  app.use(mcpRoutes(deps))
  app.use(verificationRoutes(deps))
  app.use(logRoutes(deps))
  app.use('/api/v1', decisionRoutes(deps))
  app.use('/api/v1', deliveryRoutes(deps))
  app.use('/api/v1/approvals', approvalRoutes(deps))
  app.use('/api/v1/bootstrap', bootstrapRoutes(deps))
  app.use('/api/v1/session', sessionRoutes(deps))
  app.use('/api/v1/enrollment', enrollmentRoutes(deps))
  app.use('/api/v1', chatRoutes(deps))
  app.use('/api/v1/me', meRoutes(deps))
  app.use('/api/v1/me/sessions', ownSessionRoutes(deps))
  app.use('/api/v1/account', accountRoutes(deps))
  app.use('/api/v1/account/audit', auditRoutes(deps))
  app.use('/api/v1/account/bootstrap', consentRoutes(deps))
  app.use('/api/v1/account/webhooks', webhookRoutes(deps))
  app.use(openapiRoutes(deps))
  app.use(serviceWorkerRoutes(deps))
  app.use(pageRoutes(deps))
  app.use(unknownPath)
  app.use(errorResponse(deps))
  return app
}

/** Takes a path with invalid percent-encoding (`%zz`) literally, so that routes treat it as any other malformed id (T68). */
const literalPath: RequestHandler = (request, _response, next) => {
  const [path = '', ...query] = request.url.split('?')
  if (decoded(path) === undefined) request.url = [path.replaceAll('%', '%25'), ...query].join('?')
  next()
}

/** Creates what the routes of chat platforms may use: the person signed in at the browser, and pages with a notice. */
function createEdge(deps: HttpDeps): Edge {
  return {
    async visitor(request, response) {
      const found = await sessionOfBrowser(deps, request)
      if (found === undefined) return undefined
      const { user, session } = found
      applyLimit(response, await deps.limiter.take('person', user.id))
      const recent = await isRecentlyProven(deps, found)
      const proven = recent ? 'recently' : (await isProven(deps, found)) && 'earlier'
      return { sessionId: session.id, proven, user, owner: asOwner(request, found) }
    },
    page: (about, handler) => page(deps, about, handler),
  }
}

function page(
  deps: Pick<HttpDeps, 'clock'>,
  { title, link }: { title: string; link: Link },
  handler: Parameters<Edge['page']>[1],
): RequestHandler {
  return async function page(request, response) {
    response.setHeader('Cache-Control', 'no-store')
    try {
      const notice = await handler(request, response)
      if (notice !== undefined) show(response, 200, notice)
    } catch (error) {
      if (!(error instanceof Refusal) || !wantsPage(request) || response.headersSent) throw error
      setRefusalHeaders(response, error, deps.clock.now())
      show(response, error.status, { title, text: error.publicMessage, link })
    }
  }
}

function wantsPage(request: Request): boolean {
  return request.accepts(['json', 'html']) === 'html'
}

/** Sends the notice as a page without scripts. Everything is escaped, since a workspace chooses its own name. */
function show(response: Response, status: number, { title, text, link }: Notice): void {
  const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Countersign</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${DOCS_STYLE_PATH}">
</head>
<body>
<header><div class="bar"><a class="brand" href="/">Countersign</a></div></header>
<main class="notice">
<h1>${title}</h1>
<p>${text}</p>
<p><a href="${link.href}">${link.text}</a></p>
</main>
</body>
</html>
`
  response.status(status).type('html').send(body.text)
}

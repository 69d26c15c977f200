import type { Request, RequestHandler, Response } from 'express'
import { Refusal } from '../domain/errors.ts'
import { readSession } from '../flow/people/sessions.ts'
import { html } from './docs/html.ts'
import { DOCS_STYLE_PATH } from './docs/style.ts'
import type { Edge, HttpDeps, Link, Notice } from './http-deps.ts'
import { clientAddress } from './middleware/client-address.ts'
import { readCookie } from './middleware/cookies.ts'
import { applyLimit } from './middleware/limit.ts'

/** What routes of chat platforms may ask of the HTTP edge: who sits at the browser, and a page that tells them something. */
export function createEdge(deps: HttpDeps): Edge {
  return {
    async visitor(request, response) {
      const cookie = readCookie(request, 'session', deps.settings.baseUrl)
      const found = cookie === undefined ? undefined : await readSession(deps, { cookie })
      if (found === undefined) return undefined
      const { user, session } = found
      applyLimit(response, await deps.limiter.take('person', user.id))
      const actor = { kind: 'user', id: user.id, address: clientAddress(request) } as const
      return { sessionId: session.id, owner: { accountId: user.account_id, actor } }
    },
    page,
  }
}

function page(
  { title, link }: { title: string; link: Link },
  handler: Parameters<Edge['page']>[1],
): RequestHandler {
  return async (request, response) => {
    response.setHeader('Cache-Control', 'no-store')
    try {
      const notice = await handler(request, response)
      if (notice !== undefined) show(response, 200, notice)
    } catch (error) {
      if (!(error instanceof Refusal) || !wantsPage(request) || response.headersSent) throw error
      const { publicMessage, details } = error
      const text = details.detail === undefined ? publicMessage : `${publicMessage} (${details.detail})`
      if (error.status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
      if (details.retry_after !== undefined) response.setHeader('Retry-After', String(details.retry_after))
      show(response, error.status, { title, text, link })
    }
  }
}

function wantsPage(request: Request): boolean {
  return request.accepts(['json', 'html']) === 'html'
}

/** No script, and nothing of it unescaped: workspaces name themselves. */
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

import { createHash } from 'node:crypto'
import { type RequestHandler, Router } from 'express'
import { renderDocs } from '../docs/page.ts'
import { DOCS_STYLE, DOCS_STYLE_PATH } from '../docs/style.ts'
import type { HttpDeps } from '../http-deps.ts'

/** `/healthz`: the process answers. `/readyz`: it can do its work, that is, the store answers. */
export function healthRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.get('/healthz', (_request, response) => {
    response.setHeader('Cache-Control', 'no-store').json({ status: 'ok' })
  })
  router.get('/readyz', async (_request, response) => {
    const ready = await deps.ping().then(
      () => true,
      () => false,
    )
    response.status(ready ? 200 : 503).setHeader('Cache-Control', 'no-store')
    response.json(
      ready ? { status: 'ready' } : { error: 'unavailable', message: 'The store does not answer.' },
    )
  })
  return router
}

/** Stricter than for the other pages: this one has no script at all. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A year; the address changes with the text. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/** The interface for machines (`/openapi.json`) and for people (`/docs`); the same for everybody, made once at start. */
export function openapiRoutes(deps: Pick<HttpDeps, 'openapi'>): Router {
  const page = renderDocs(deps.openapi, DOCS_STYLE_PATH)
  const router = Router()
  router.get('/openapi.json', document(deps.openapi))
  router.get('/docs', docs(page))
  router.get(DOCS_STYLE_PATH, style)
  return router
}

function document(openapi: object): RequestHandler {
  const text = JSON.stringify(openapi)
  const tag = `"${fingerprint(text)}"`
  return (_request, response) => {
    response.setHeader('Cache-Control', 'no-cache').setHeader('ETag', tag)
    response.type('json').send(text)
  }
}

/** Not `no-store` as the API: nothing in it is anybody's own. It is asked for again each time, and mostly answered 304. */
function docs(page: string): RequestHandler {
  const tag = `"${fingerprint(page)}"`
  return (_request, response) => {
    response.setHeader('Content-Security-Policy', POLICY)
    response.setHeader('Cache-Control', 'no-cache').setHeader('ETag', tag)
    response.type('html').send(page)
  }
}

const style: RequestHandler = (_request, response) => {
  response.setHeader('Cache-Control', FOR_EVER)
  response.type('css').send(DOCS_STYLE)
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type RequestHandler, Router } from 'express'
import { refusal } from '../../domain/errors.ts'
import {
  DOCS_SCRIPT,
  DOCS_SCRIPT_PATH,
  DOCS_STYLE,
  DOCS_STYLE_PATH,
  DOCS_THEME,
  DOCS_THEME_PATH,
  fingerprint,
} from '../docs/assets.ts'
import { bindTo, type Endpoint } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { authenticate, callerOf } from '../middleware/authenticate.ts'
import { jsonBodyWithAttachments } from '../middleware/json-body.ts'
import { limitByKey } from '../middleware/limit.ts'
import { requestIdOf } from '../middleware/log-requests.ts'
import { idempotencyKeyOf } from '../read-input.ts'
import { type ContentCoding, preferredCoding } from './pages.ts'

/** Creates the health probes. `/healthz`: the process answers. `/readyz`: it can do its work, that is, the store answers. */
export function healthRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.get('/healthz', function isAlive(_request, response) {
    response.setHeader('Cache-Control', 'no-store').json({ status: 'ok', ...deps.build })
  })
  router.get('/readyz', async function isReady(_request, response) {
    await deps.ping().catch(() => {
      throw refusal('storage_unavailable')
    })
    response.setHeader('Cache-Control', 'no-store').json({ status: 'ready' })
  })
  return router
}

/** The content security policy of `/docs`. Stricter than for other pages: it calls and submits nothing, and makes no markup. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Lets clients cache for a year; the address changes with the text. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/** Creates the routes of the interface for machines (`/openapi.json`) and for people (`/docs`), the same for everyone. */
export function openapiRoutes(deps: Pick<HttpDeps, 'openapi' | 'docs'>): Router {
  const router = Router()
  router.get('/openapi.json', compressed('json', deps.openapi))
  router.get('/docs', compressed('html', deps.docs, { 'Content-Security-Policy': POLICY }))
  router.get(DOCS_STYLE_PATH, docsAsset('css', DOCS_STYLE))
  router.get(DOCS_THEME_PATH, docsAsset('js', DOCS_THEME))
  router.get(DOCS_SCRIPT_PATH, docsAsset('js', DOCS_SCRIPT))
  return router
}

/** Brotli quality: the highest would block the process for half a second to save 5 kB. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/**
 * Sends a text that is read and compressed at the first request for each coding. Not `no-store` like the API, since nothing in
 * it is private: clients revalidate it each time and mostly get 304.
 */
function compressed(type: string, read: () => string, headers: Record<string, string> = {}): RequestHandler {
  const made = new Map<string, { body: Buffer; tag: string }>()
  return function compressed(request, response) {
    const { name } = preferredCoding(request.get('Accept-Encoding'))
    const { body, tag } = made.get(name) ?? encoded(read(), name)
    made.set(name, { body, tag })
    if (name !== 'identity') response.setHeader('Content-Encoding', name)
    response.vary('Accept-Encoding').set({ 'Cache-Control': 'no-cache', ETag: tag, ...headers })
    response.type(type).send(body)
  }
}

function encoded(text: string, name: ContentCoding['name']): { body: Buffer; tag: string } {
  const tag = fingerprint(text)
  if (name === 'identity') return { body: Buffer.from(text), tag: `"${tag}"` }
  const body = name === 'br' ? brotliCompressSync(text, QUALITY) : gzipSync(text)
  return { body, tag: `"${tag}-${name}"` }
}

function docsAsset(type: string, text: string): RequestHandler {
  return function docsAsset(_request, response) {
    response.setHeader('Cache-Control', FOR_EVER).type(type).send(text)
  }
}

/**
 * Creates the endpoint of the Model Context Protocol (Streamable HTTP, revisions 2025-03-26 to 2026-07-28): stateless, so that any
 * process answers any call. The API key is the bearer token.
 */
export function mcpRoutes(deps: HttpDeps): Router {
  const router = Router()
  const on = bindTo(deps)
  router.all('/mcp', authenticate(deps), limitByKey(deps, 'read'), jsonBodyWithAttachments, on(answerMcp))
  return router
}

const answerMcp: Endpoint = async (deps, request, response) => {
  // Loaded when the first client comes: most installations have none, and a start would be slower by it.
  const { serveMcp } = await import('../mcp-tools.ts')
  const call = {
    caller: callerOf(response),
    request_id: requestIdOf(response),
    idempotencyKey: idempotencyKeyOf(request),
  }
  await serveMcp(deps, call, request, response)
}

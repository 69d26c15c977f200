import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type RequestHandler, Router } from 'express'
import { refusal } from '../../domain/errors.ts'
import { DOCS_SCRIPT, DOCS_SCRIPT_PATH, DOCS_STYLE, DOCS_STYLE_PATH, fingerprint } from '../docs/assets.ts'
import { renderDocs } from '../docs/page.ts'
import type { HttpDeps } from '../http-deps.ts'
import { preferredCoding } from './pages.ts'

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
    if (!ready) throw refusal('storage_unavailable')
    response.setHeader('Cache-Control', 'no-store').json({ status: 'ready' })
  })
  return router
}

/** Stricter than for the other pages: this one calls and submits nothing, and its one script makes no markup. */
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

/** A year; the address changes with the text. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/** The interface for machines (`/openapi.json`) and for people (`/docs`); the same for everyone, made with the first question. */
export function openapiRoutes(deps: Pick<HttpDeps, 'openapi'>): Router {
  const router = Router()
  router.get('/openapi.json', document(deps.openapi))
  router.get('/docs', docs(deps.openapi))
  router.get(DOCS_STYLE_PATH, asset('css', DOCS_STYLE))
  router.get(DOCS_SCRIPT_PATH, asset('js', DOCS_SCRIPT))
  return router
}

function document(openapi: HttpDeps['openapi']): RequestHandler {
  return compressed('json', () => JSON.stringify(openapi()))
}

function docs(openapi: HttpDeps['openapi']): RequestHandler {
  const send = compressed('html', () => renderDocs(openapi()))
  return (request, response, next) => {
    response.setHeader('Content-Security-Policy', POLICY)
    return send(request, response, next)
  }
}

/** The best one takes half a second of everyone's time, for 5 kB less. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** Not `no-store` as the API: nothing in it is private. It is asked for again each time, and mostly answered 304. */
function compressed(type: string, make: () => string): RequestHandler {
  const made = once(make)
  const zipped = new Map<string, Buffer>()
  return (request, response) => {
    const { text, tag } = made()
    const { name } = preferredCoding(request.get('Accept-Encoding'))
    response.vary('Accept-Encoding').setHeader('Cache-Control', 'no-cache').type(type)
    if (name === 'identity') return void response.setHeader('ETag', tag).send(text)
    const sent = zipped.get(name) ?? (name === 'br' ? brotliCompressSync(text, QUALITY) : gzipSync(text))
    zipped.set(name, sent)
    response.setHeader('ETag', tag.replace(/"$/, `-${name}"`)).setHeader('Content-Encoding', name)
    response.send(sent)
  }
}

function asset(type: string, text: string): RequestHandler {
  return (_request, response) => void response.setHeader('Cache-Control', FOR_EVER).type(type).send(text)
}

/** A text that is made when it is first asked for, and its tag. */
function once(make: () => string): () => { text: string; tag: string } {
  let made: { text: string; tag: string } | undefined
  return () => {
    if (made === undefined) {
      const text = make()
      made = { text, tag: `"${fingerprint(text)}"` }
    }
    return made
  }
}

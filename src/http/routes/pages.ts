import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express'
import { DASHBOARD_PATHS, HOSTED_PATHS } from '../../domain/pages.ts'
import type { HttpDeps } from '../http-deps.ts'
import { allowServiceWorker } from '../middleware/security-headers.ts'

/** The only names that reach the file system: no folder, a single dot, a known type. */
const ASSET_NAME = /^[\w-]+\.(js|css|svg)$/
const TYPES = new Map([
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
])

/** Creates the routes of the built pages: hashed assets are cached for ever, HTML is revalidated and holds no request data. */
export function pageRoutes(
  deps: Pick<HttpDeps, 'pagesDir' | 'dashboardDir' | 'settings' | 'trustProxy'>,
): Router {
  const router = Router()
  // Two builds share one path; the hash in a name tells different files apart.
  router.get('/assets/:name', asset(join(deps.pagesDir, 'assets')), asset(join(deps.dashboardDir, 'assets')))
  router.get('/icons/:name', icon(join(deps.dashboardDir, 'icons')))
  const byOneName = oneLoopbackName(deps)
  router.get([...HOSTED_PATHS], byOneName, shell(deps.pagesDir))
  router.get(EARLIER_PATH, toRequest)
  router.get([...DASHBOARD_PATHS], byOneName, allowServiceWorker(), shell(deps.dashboardDir))
  router.use(noSuchPage(deps.dashboardDir))
  return router
}

/** Before there was one page for a request, links and bookmarks led to this one too; they lead there for ever. */
const EARLIER_PATH = '/requests/:id'

function toRequest({ params, originalUrl }: Request<{ id: string }>, response: Response): void {
  const query = originalUrl.indexOf('?')
  response.redirect(308, `/a/${encodeURIComponent(params.id)}${query === -1 ? '' : originalUrl.slice(query)}`)
}

/** Paths that are for programs, even if one is opened in a browser. */
const FOR_PROGRAMS = /^\/+(?:api|assets|icons|slack|\.well-known)(?:\/|$)/i

/**
 * Answers a browser at an unknown address with a 404 page; programs get the JSON of every other refusal. The status is 404
 * whatever range or version the request asks for, so `sendFile`, which would honour these, is not used.
 */
function noSuchPage(root: string): RequestHandler {
  const withRules = allowServiceWorker()
  return async function noSuchPage(request, response, next) {
    if (FOR_PROGRAMS.test(request.path) || !['GET', 'HEAD'].includes(request.method)) return next()
    response.vary('Accept')
    // A client that accepts anything (curl, scripts) is not a browser that opens a page.
    if (request.accepts(['json', 'html']) !== 'html') return next()
    const html = await readFile(join(root, 'index.html')).catch(() => undefined)
    // The dashboard was not built, so there is no page to show.
    if (html === undefined) return next()
    response.setHeader('Cache-Control', 'no-cache')
    withRules(request, response, () => response.status(404).type('html').send(html))
  }
}

/** Sends the only HTML file of a build; its script chooses the view by the path. */
function shell(root: string): RequestHandler {
  const options = { root, cacheControl: false, headers: { 'Cache-Control': 'no-cache' } }
  return function shell(_request, response, next) {
    response.sendFile('index.html', options, afterSending(response, next))
  }
}

/** Sends the file that the build compressed in the coding that the client prefers. */
function asset(root: string): RequestHandler<{ name: string }> {
  return function asset(request, response, next) {
    const { name } = request.params
    const type = TYPES.get(ASSET_NAME.exec(name)?.[1] ?? '')
    if (type === undefined) return next()
    const coding = preferredCoding(request.get('Accept-Encoding'))
    const file = `${name}${coding.ending}`
    const headers = {
      'Content-Type': type,
      Vary: 'Accept-Encoding',
      // The name holds the hash of the content, and its ending names the coding, so it is a strong validator.
      ETag: `"${file}"`,
      ...(coding.name === 'identity' ? {} : { 'Content-Encoding': coding.name }),
    }
    const options = { root, headers, immutable: true, maxAge: '365d', lastModified: false }
    response.sendFile(file, options, afterSending(response, next))
  }
}

/** Sends an icon. Its name never changes, since a phone keeps the address that it found in the manifest. */
function icon(root: string): RequestHandler<{ name: string }> {
  return function icon(request, response, next) {
    const { name } = request.params
    if (!/^icon-\d+\.png$/.test(name)) return next()
    response.sendFile(name, { root, maxAge: '1d' }, afterSending(response, next))
  }
}

const OF_THE_FILE = ['Cache-Control', 'Content-Encoding', 'Content-Type', 'ETag', 'Last-Modified']

/**
 * Handles the outcome of `sendFile`: a missing file is an unknown path; 412 and 416 are answers, not failures; a client that left
 * before the end gets no answer.
 */
function afterSending(response: Response, next: NextFunction): (error?: Error) => void {
  return (error) => {
    if (error === undefined || response.destroyed) return
    const status = 'status' in error ? error.status : undefined
    if (status === 404) return next()
    if (status !== 412 && status !== 416) return next(error)
    for (const header of OF_THE_FILE) response.removeHeader(header)
    response.status(status).end()
  }
}

/** The manifest with which a phone adds the dashboard to its home screen: iPhones show notifications only of such apps. */
const MANIFEST = {
  name: 'Countersign',
  short_name: 'Countersign',
  id: '/',
  start_url: '/',
  scope: '/',
  display: 'standalone',
  theme_color: '#0f5c46',
  background_color: '#f3f5f4',
  icons: [192, 512].flatMap((size) =>
    ['any', 'maskable'].map((purpose) => ({
      src: `/icons/icon-${size}.png`,
      sizes: `${size}x${size}`,
      type: 'image/png',
      purpose,
    })),
  ),
}

/**
 * Creates the routes of the service worker, which shows pushes, and of the manifest. The worker's address never changes:
 * browsers fetch exactly this address again at each visit and after a day at most, so a cached copy must be revalidated.
 */
export function serviceWorkerRoutes({ workerDir }: Pick<HttpDeps, 'workerDir'>): Router {
  const router = Router()
  const file = join(workerDir, 'sw.js')
  router.get('/sw.js', function serviceWorker(_request, response, next) {
    response.sendFile(
      file,
      {
        cacheControl: false,
        headers: {
          'Cache-Control': 'no-cache',
          'Content-Type': 'text/javascript; charset=utf-8',
          'Service-Worker-Allowed': '/',
        },
      },
      afterSending(response, next),
    )
  })
  router.get('/manifest.webmanifest', function manifest(_request, response) {
    response.setHeader('Cache-Control', 'no-cache')
    response.type('application/manifest+json').send(JSON.stringify(MANIFEST))
  })
  return router
}

/** A coding in which a built asset can be sent; `ending` is what the file name has after the asset's own name. */
export interface ContentCoding {
  name: 'br' | 'gzip' | 'identity'
  ending: string
}

const IDENTITY: ContentCoding = { name: 'identity', ending: '' }
/** Smallest result first: of codings with equal weight, the first wins. */
const CODINGS: readonly ContentCoding[] = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
  IDENTITY,
]

/**
 * Returns the coding with the highest weight in `Accept-Encoding` (RFC 9110, section 12.5.3). Without the header, or when
 * it allows none of our codings, returns `identity`: every client can read the plain file.
 */
export function preferredCoding(acceptEncoding = ''): ContentCoding {
  const weights = new Map(acceptEncoding.split(',').map(weighted))
  const weight = ({ name }: ContentCoding): number => weights.get(name) ?? weights.get('*') ?? 0
  const [best = IDENTITY] = CODINGS.toSorted((one, other) => weight(other) - weight(one))
  return weight(best) > 0 ? best : IDENTITY
}

/** Parses `gzip;q=0.5` into name and weight; an invalid weight counts as 0. */
function weighted(item: string): [name: string, weight: number] {
  const [name = '', parameter] = item.split(';', 2)
  const quality = parameter === undefined ? 1 : Number(/^\s*q=([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1])
  return [name.trim().toLowerCase(), quality >= 0 && quality <= 1 ? quality : 0]
}

/** The loopback addresses of this machine, as a `Host` header spells them. */
const LOOPBACK_ADDRESS = /^(?:127\.0\.0\.1|\[::1\])(:\d+)?$/

interface LoopbackDeps {
  settings: { baseUrl: string }
  /** The proxies in front of the service: how many, or which; 0 for none. */
  trustProxy: number | readonly string[]
}

/**
 * Redirects a page opened at a loopback address to the same page at `localhost`: passkeys and cookies are bound to that
 * name (WebAuthn section 5.1.3, step 8), so they would not work at the address. Redirects only if the base URL is
 * `localhost` on the same port, and no proxy is in front: a proxy that sends our address as `Host` would cause a loop.
 */
function oneLoopbackName({ settings, trustProxy }: LoopbackDeps): RequestHandler {
  const { hostname, host, origin } = new URL(settings.baseUrl)
  const port = host.slice(hostname.length)
  return function oneLoopbackName(request, response, next) {
    const found = LOOPBACK_ADDRESS.exec(request.get('Host') ?? '')
    if (hostname !== 'localhost' || found === null || (found[1] ?? '') !== port) return next()
    if (trustProxy !== 0 || request.get('X-Forwarded-For') !== undefined) return next()
    // Only a path: the absolute form `GET http://host/account` is also valid (RFC 9112 section 3.2.2).
    if (!request.originalUrl.startsWith('/')) return next()
    response.setHeader('Cache-Control', 'no-store')
    response.redirect(307, `${origin}${request.originalUrl}`)
  }
}

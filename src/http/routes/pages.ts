import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type NextFunction, type RequestHandler, type Response, Router } from 'express'
import type { HttpDeps } from '../http-deps.ts'
import { allowServiceWorker } from '../middleware/security-headers.ts'

/** Paths of the hosted page; it reads the rest from the address. `GET` has no effect on any of them (T13). */
const PAGE_PATHS = ['/setup', '/enroll', '/signin', '/link', '/a/:id', '/b/:id']

/** Paths of the dashboard, likewise. */
const DASHBOARD_PATHS = [
  '/',
  '/account',
  '/requests',
  '/requests/:id',
  '/keys',
  '/integrations',
  '/integrations/webhooks/:id',
  '/members',
  '/settings',
  '/audit',
  '/verify',
]

/** The only names that reach the file system: no folder, no dot but one, a type we know. */
const ASSET_NAME = /^[\w-]+\.(js|css|svg)$/
const TYPES = new Map([
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
])

/** The built pages: hashed assets for ever, the shell always fresh. Nothing of a request is in the HTML. */
export function pageRoutes(
  deps: Pick<HttpDeps, 'pagesDir' | 'dashboardDir' | 'settings' | 'trustProxy'>,
): Router {
  const router = Router()
  // Two builds, one place: the hash in a name tells apart what differs.
  router.get('/assets/:name', asset(join(deps.pagesDir, 'assets')), asset(join(deps.dashboardDir, 'assets')))
  router.get('/icons/:name', icon(join(deps.dashboardDir, 'icons')))
  const byOneName = oneLoopbackName(deps)
  router.get(PAGE_PATHS, byOneName, shell(deps.pagesDir))
  router.get(DASHBOARD_PATHS, byOneName, allowServiceWorker(), shell(deps.dashboardDir))
  router.use(noSuchPage(deps.dashboardDir))
  return router
}

/** Paths under which programs ask, also when one is opened in a browser. */
const FOR_PROGRAMS = /^\/+(?:api|assets|icons|slack|\.well-known)(?:\/|$)/i

/**
 * Says to people in words that an address leads nowhere; programs get the JSON of every other refusal. It is a 404 whatever
 * range or version was asked for, so the file is not sent as one.
 */
function noSuchPage(root: string): RequestHandler {
  const withRules = allowServiceWorker()
  return async (request, response, next) => {
    if (FOR_PROGRAMS.test(request.path) || !['GET', 'HEAD'].includes(request.method)) return next()
    response.vary('Accept')
    // A client that takes anything (curl, scripts) is no browser that opens a page.
    if (request.accepts(['json', 'html']) !== 'html') return next()
    const html = await readFile(join(root, 'index.html')).catch(() => undefined)
    // Pages that were not built are not there, either.
    if (html === undefined) return next()
    response.setHeader('Cache-Control', 'no-cache')
    withRules(request, response, () => response.status(404).type('html').send(html))
  }
}

/** The one HTML file of a build; the path decides in the browser. */
function shell(root: string): RequestHandler {
  const options = { root, cacheControl: false, headers: { 'Cache-Control': 'no-cache' } }
  return (_request, response, next) => {
    response.sendFile('index.html', options, afterSending(response, next))
  }
}

/** Sends the file as the build compressed it, in the coding the client likes best. */
function asset(root: string): RequestHandler<{ name: string }> {
  return (request, response, next) => {
    const { name } = request.params
    const type = TYPES.get(ASSET_NAME.exec(name)?.[1] ?? '')
    if (type === undefined) return next()
    const coding = preferredCoding(request.get('Accept-Encoding'))
    const file = `${name}${coding.ending}`
    const headers = {
      'Content-Type': type,
      Vary: 'Accept-Encoding',
      // The name holds the hash of the content, so it is a strong validator, another one for each coding.
      ETag: `"${file}"`,
      ...(coding.name === 'identity' ? {} : { 'Content-Encoding': coding.name }),
    }
    const options = { root, headers, immutable: true, maxAge: '365d', lastModified: false }
    response.sendFile(file, options, afterSending(response, next))
  }
}

/** Under one name for ever: a phone keeps the address that it found in the manifest. */
function icon(root: string): RequestHandler<{ name: string }> {
  return (request, response, next) => {
    const { name } = request.params
    if (!/^icon-\d+\.png$/.test(name)) return next()
    response.sendFile(name, { root, maxAge: '1d' }, afterSending(response, next))
  }
}

const OF_THE_FILE = ['Cache-Control', 'Content-Encoding', 'Content-Type', 'ETag', 'Last-Modified']

/** A file that is not there is an unknown path; 412 and 416 are answers, not failures. */
function afterSending(response: Response, next: NextFunction): (error?: Error) => void {
  return (error) => {
    if (error === undefined) return
    const status = 'status' in error ? error.status : undefined
    if (status === 404) return next()
    if (status !== 412 && status !== 416) return next(error)
    for (const header of OF_THE_FILE) response.removeHeader(header)
    response.status(status).end()
  }
}

/** What a phone needs to put the dashboard on its home screen: iPhones show notifications to such apps alone. */
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
 * The script that shows pushes, under one name for ever: browsers ask again for exactly this address, at each visit and
 * after a day at most, so it must never be kept.
 */
export function serviceWorkerRoutes({ workerDir }: Pick<HttpDeps, 'workerDir'>): Router {
  const router = Router()
  const file = join(workerDir, 'sw.js')
  router.get('/sw.js', (_request, response, next) => {
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
      (error?: Error) => error && next(error),
    )
  })
  router.get('/manifest.webmanifest', (_request, response) => {
    response.setHeader('Cache-Control', 'no-cache')
    response.type('application/manifest+json').send(JSON.stringify(MANIFEST))
  })
  return router
}

/** How a built asset can be sent; `ending` is what its file has after the asset's own name. */
export interface ContentCoding {
  name: 'br' | 'gzip' | 'identity'
  ending: string
}

const IDENTITY: ContentCoding = { name: 'identity', ending: '' }
/** Smallest first: where the client does not mind, the first wins. */
const CODINGS: readonly ContentCoding[] = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
  IDENTITY,
]

/**
 * The coding the client weighs highest in its `Accept-Encoding` (RFC 9110, section 12.5.3). Without the header, or when
 * it allows none of ours, the plain file: every client can read that.
 */
export function preferredCoding(acceptEncoding = ''): ContentCoding {
  const weights = new Map(acceptEncoding.split(',').map(weighted))
  const weight = ({ name }: ContentCoding): number => weights.get(name) ?? weights.get('*') ?? 0
  const [best = IDENTITY] = CODINGS.toSorted((one, other) => weight(other) - weight(one))
  return weight(best) > 0 ? best : IDENTITY
}

/** `gzip;q=0.5` as name and weight; a weight that is none counts as 0. */
function weighted(item: string): [name: string, weight: number] {
  const [name = '', parameter] = item.split(';', 2)
  const quality = parameter === undefined ? 1 : Number(/^\s*q=([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1])
  return [name.trim().toLowerCase(), quality >= 0 && quality <= 1 ? quality : 0]
}

/** Other names of this machine, as a `Host` header spells them. */
const LOOPBACK_ADDRESS = /^(?:127\.0\.0\.1|\[::1\])(:\d+)?$/

interface LoopbackDeps {
  settings: { baseUrl: string }
  /** The proxies in front of the service: how many, or which; 0 for none. */
  trustProxy: number | readonly string[]
}

/**
 * Leads a page that was opened by a loopback address to the same page at `localhost`: passkeys and cookies are bound to
 * that name (WebAuthn section 5.1.3, step 8), so nothing could be done where the visitor is. Only where the service itself
 * is called `localhost`, on the same port, and not behind a proxy: one that names us by our address would lead in circles.
 */
function oneLoopbackName({ settings, trustProxy }: LoopbackDeps): RequestHandler {
  const { hostname, host, origin } = new URL(settings.baseUrl)
  const port = host.slice(hostname.length)
  return (request, response, next) => {
    const found = LOOPBACK_ADDRESS.exec(request.get('Host') ?? '')
    if (hostname !== 'localhost' || found === null || (found[1] ?? '') !== port) return next()
    if (trustProxy !== 0 || request.get('X-Forwarded-For') !== undefined) return next()
    // Nothing but a path: `GET http://host/account` is well-formed, too (RFC 9112 section 3.2.2).
    if (!request.originalUrl.startsWith('/')) return next()
    response.setHeader('Cache-Control', 'no-store')
    response.redirect(307, `${origin}${request.originalUrl}`)
  }
}

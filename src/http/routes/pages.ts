import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type NextFunction, type RequestHandler, type Response, Router } from 'express'
import { preferredCoding } from '../content-coding.ts'
import type { HttpDeps } from '../http-deps.ts'
import { oneLoopbackName } from '../middleware/one-loopback-name.ts'
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
  const byOneName = oneLoopbackName(deps)
  router.get(PAGE_PATHS, byOneName, shell(deps.pagesDir))
  router.get(DASHBOARD_PATHS, byOneName, allowServiceWorker(), shell(deps.dashboardDir))
  router.use(noSuchPage(deps.dashboardDir))
  return router
}

/** Paths under which programs ask, also when somebody opens one in a browser. */
const FOR_PROGRAMS = /^\/+(?:api|assets|slack|\.well-known)(?:\/|$)/i

/**
 * Says to people in words that an address leads nowhere; programs get the JSON of every other refusal. It is a 404 whatever
 * range or version was asked for, so the file is not sent as one.
 */
function noSuchPage(root: string): RequestHandler {
  const withRules = allowServiceWorker()
  return async (request, response, next) => {
    if (FOR_PROGRAMS.test(request.path) || !['GET', 'HEAD'].includes(request.method)) return next()
    response.vary('Accept')
    // Whoever takes anything (curl, scripts) is no browser that opens a page.
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

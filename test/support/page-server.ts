import { readdir, readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { packagePath } from '../../src/config/package-path.ts'
import { Refusal, refusal } from '../../src/domain/errors.ts'
import { DASHBOARD_PATHS, HOSTED_PATHS, isPage } from '../../src/domain/pages.ts'
import { answer, freshState, type PageState } from './page-answers.ts'
import { type PageArea, RawAnswer } from './page-area.ts'

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
/** Of pages that may start the service worker. */
const DASHBOARD_CSP = `${CSP.replace("trusted-types 'none'", 'trusted-types service-worker')}; manifest-src 'self'`
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Speaks the page's API with answers a test chooses, also ones the real service never gives: lies, hostile texts, every
 * state. It stores nothing and proves nothing; ceremonies are tested against the real service.
 */
export interface PageServer {
  url: string
  state: PageState
  /** `METHOD path` of every API call, in order. */
  calls: string[]
  /** Tells every open stream of an inbox that something may have changed. */
  tellInboxes(): void
  /** How many streams are open. */
  inboxes(): number
  close(): Promise<void>
}

/** The folders that `npm run build` fills; every test run brings them up to date first. */
export const BUILT_PAGE = packagePath('dist/webauthn-page')
export const BUILT_DASHBOARD = packagePath('dist/dashboard')

/** Serves the built pages, read once: a build that runs meanwhile does not matter. What `areas` answer comes first. */
export async function startPageServer(areas: readonly PageArea[] = []): Promise<PageServer> {
  const files = await readPages()
  const calls: string[] = []
  const state = freshState()
  const streams = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    void serve(request, response, { state, calls, files, areas, streams }).catch(() => response.destroy())
  })
  // Playwright keeps connections too: one that is closed for being idle just as a test takes it up would fail the call.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return {
    url: `http://localhost:${address.port}`,
    state,
    calls,
    tellInboxes: () => {
      for (const stream of streams) stream.write('event: changed\ndata: {}\n\n')
    },
    inboxes: () => streams.size,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

/** The shells of both builds, and `assets/…` of both, with their contents. */
async function readPages(): Promise<Map<string, Buffer>> {
  const [page, dashboard] = await Promise.all([
    readBuild(BUILT_PAGE, 'page.html'),
    readBuild(BUILT_DASHBOARD, 'dashboard.html'),
  ])
  return new Map([...page, ...dashboard])
}

async function readBuild(folder: string, shell: string): Promise<(readonly [string, Buffer])[]> {
  const names = (await readdir(join(folder, 'assets'))).map((name) => `assets/${name}`)
  const assets = names.map(async (name) => [name, await readFile(join(folder, name))] as const)
  return Promise.all([...assets, readFile(join(folder, 'index.html')).then((html) => [shell, html] as const)])
}

interface Served {
  state: PageState
  calls: string[]
  files: Map<string, Buffer>
  areas: readonly PageArea[]
  /** Open streams of inboxes. */
  streams: Set<ServerResponse>
}

function stream(response: ServerResponse, streams: Set<ServerResponse>): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  response.write('retry: 3000\n\n')
  streams.add(response)
  response.on('close', () => streams.delete(response))
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { state, calls, files, areas, streams }: Served,
): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
  response.setHeader('Content-Security-Policy', isPage(DASHBOARD_PATHS, url.pathname) ? DASHBOARD_CSP : CSP)
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('Referrer-Policy', 'no-referrer')
  if (!url.pathname.startsWith('/api/')) return serveFile(url.pathname, files, response)
  const call = `${request.method} ${url.pathname.slice('/api/v1'.length)}`
  calls.push(call)
  if (call === 'GET /me/pending/events' && state.events && state.signedIn) return stream(response, streams)
  try {
    const body = await readBody(request, url.origin)
    const { origin, searchParams: query } = url
    send(response, 200, answer({ call, query, body, origin, signedIn: state.signedIn }, state, areas))
  } catch (error) {
    const refused = error instanceof Refusal ? error : refusal('internal_error')
    send(response, refused.status, {
      error: refused.code,
      message: refused.publicMessage,
      ...refused.details,
    })
  }
}

function serveFile(pathname: string, files: Map<string, Buffer>, response: ServerResponse): void {
  const name = shellOf(pathname) ?? pathname.slice(1)
  const content = files.get(name)
  response.writeHead(content === undefined ? 404 : 200, {
    'Content-Type': TYPES[extname(name)] ?? 'text/plain',
    // As the service has them kept: each name holds the hash of its content.
    ...(name.startsWith('assets/') ? { 'Cache-Control': 'public, max-age=31536000, immutable' } : {}),
  })
  response.end(content)
}

function shellOf(pathname: string): string | undefined {
  if (isPage(HOSTED_PATHS, pathname)) return 'page.html'
  return isPage(DASHBOARD_PATHS, pathname) ? 'dashboard.html' : undefined
}

async function readBody(request: IncomingMessage, origin: string): Promise<Record<string, unknown>> {
  if (request.method === 'GET') return {}
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const typed = request.headers['content-type'] === 'application/json'
  if (!typed || request.headers.origin !== origin) throw refusal('csrf_refused')
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  return typeof body === 'object' && body !== null ? { ...body } : {}
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (body instanceof RawAnswer) {
    response.writeHead(status, body.headers)
    response.end(body.body)
    return
  }
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
  })
  response.end(JSON.stringify(body))
}

import { DASHBOARD_PATHS, isPage } from '../../src/domain/pages.ts'
import { parseUrl } from '../kit/parse-url.ts'

/** Pages of this service that a sign-in may lead back to. */
const PAGES = ['/a/:id', '/b/:id', '/requests/:id', '/slack/install', ...DASHBOARD_PATHS]

/** Returns the page to open after sign-in: one of our own, never another site (`//evil.example`, `javascript:`). */
export function nextPath(search: string, origin: string): string {
  const wanted = new URLSearchParams(search).get('next')
  if (wanted === null || !wanted.startsWith('/')) return '/'
  const url = parseUrl(wanted, origin)
  if (url === undefined || url.origin !== origin || !isPage(PAGES, url.pathname)) return '/'
  return `${url.pathname}${url.search}${url.hash}`
}

import { parseUrl } from '../kit/parse-url.ts'

/** Pages of this service that a sign-in may lead back to. */
const PAGES = [
  /^\/[ab]\/[\w-]+$/,
  /^\/(?:account|requests(?:\/[\w-]+)?|keys|integrations(?:\/webhooks\/[\w-]+)?|members|settings|audit|verify)?$/,
  /^\/slack\/install$/,
]

/** Returns the page to open after sign-in: one of our own, never another site (`//evil.example`, `javascript:`). */
export function nextPath(search: string, origin: string): string {
  const wanted = new URLSearchParams(search).get('next')
  if (wanted === null || !wanted.startsWith('/')) return '/'
  const url = parseUrl(wanted, origin)
  if (url === undefined || url.origin !== origin || !PAGES.some((page) => page.test(url.pathname))) return '/'
  return `${url.pathname}${url.search}${url.hash}`
}

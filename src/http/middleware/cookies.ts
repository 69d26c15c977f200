import { parseCookie, stringifySetCookie } from 'cookie'
import type { Request, Response } from 'express'
import { cookieName } from '../../domain/cookie-name.ts'
import type { SessionGrant } from '../../flow/people/sessions.ts'

/** The cookies of this service: `session` tells who is signed in, `device` that codes may sign in on this browser. */
export type CookieKind = 'session' | 'device'

const NAMES: Readonly<Record<CookieKind, string>> = { session: 'countersign', device: 'countersign-device' }

/** Lifetime of the device cookie, in seconds: 400 days, the most that browsers allow. */
export const DEVICE_COOKIE_SECONDS = 400 * 86_400

/** The form of every token that this service hands out: 32 bytes in base64url. Anything else is not looked up. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** Returns the token in a cookie; undefined if it is missing or does not have the form of our tokens. */
export function readCookie(request: Request, kind: CookieKind, baseUrl: string): string | undefined {
  const token = parseCookie(request.headers.cookie ?? '')[cookieName(NAMES[kind], baseUrl)]
  return token !== undefined && TOKEN.test(token) ? token : undefined
}

/** Sets a cookie; an empty `token` with 0 seconds removes it. */
export function writeCookie(
  response: Response,
  kind: CookieKind,
  baseUrl: string,
  token: string,
  seconds: number,
): void {
  const cookie = stringifySetCookie({
    name: cookieName(NAMES[kind], baseUrl),
    value: token,
    maxAge: seconds,
    path: '/',
    httpOnly: true,
    secure: baseUrl.startsWith('https:'),
    sameSite: 'lax',
  })
  response.append('Set-Cookie', cookie)
}

/** Sets the cookie of a new session and, if this browser has just become a known one, the device cookie. */
export function setGrantCookies(
  response: Response,
  { settings, clock }: { settings: { baseUrl: string }; clock: { now(): Date } },
  grant: SessionGrant & { device?: string },
): void {
  const left = grant.session.expires_at.getTime() - clock.now().getTime()
  const seconds = Math.max(1, Math.floor(left / 1000))
  writeCookie(response, 'session', settings.baseUrl, grant.cookie, seconds)
  if (grant.device !== undefined)
    writeCookie(response, 'device', settings.baseUrl, grant.device, DEVICE_COOKIE_SECONDS)
}

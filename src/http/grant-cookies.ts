import type { Response } from 'express'
import type { SessionGrant } from '../flow/people/sessions.ts'
import { DEVICE_COOKIE_SECONDS, writeCookie } from './middleware/cookies.ts'

/** Sets the cookies of a new session and, where this browser became a known one, of the device. */
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

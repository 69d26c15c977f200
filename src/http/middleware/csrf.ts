import type { Request, RequestHandler } from 'express'
import { refusal } from '../../domain/errors.ts'
import { readCookie } from './cookies.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses what another site made a browser send (T22). A request that rides on a cookie must be JSON (forms cannot send
 * that) and name our own origin; a missing `Origin` is refused too, since browsers send it with every such request.
 * @param byCookie does a cookie of ours come along?
 * @throws Refusal `csrf_refused`
 */
export function refuseForeignOrigin(request: Request, baseUrl: string, byCookie: boolean): void {
  if (SAFE_METHODS.has(request.method)) return
  const origin = request.get('Origin')
  if (origin !== undefined && origin !== baseUrl) throw refusal('csrf_refused')
  if (request.get('Sec-Fetch-Site') === 'cross-site') throw refusal('csrf_refused')
  if (byCookie && (origin === undefined || !isJson(request))) throw refusal('csrf_refused')
}

/** The check for routes that are open to everybody: sign-in and enrolment. */
export function sameOrigin({ settings }: { settings: { baseUrl: string } }): RequestHandler {
  return (request, _response, next) => {
    const kinds = ['session', 'device'] as const
    const byCookie = kinds.some((kind) => readCookie(request, kind, settings.baseUrl) !== undefined)
    refuseForeignOrigin(request, settings.baseUrl, byCookie)
    next()
  }
}

function isJson(request: Request): boolean {
  const type = request.get('Content-Type')?.split(';', 1)[0]
  return type?.trim().toLowerCase() === 'application/json'
}

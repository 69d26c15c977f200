import { type Request, type RequestHandler, type Response, Router } from 'express'
import { type Refusal, refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import type { PeopleDeps } from '../../flow/deps.ts'
import type { Owner } from '../../flow/people/accounts.ts'
import { requireRecentProof } from '../../flow/people/recent-proof.ts'
import {
  type Client,
  readSession,
  type SessionCredential,
  type SessionUse,
  type SignedIn,
} from '../../flow/people/sessions.ts'
import { bearerToken, callerIds } from './authenticate.ts'
import { clientAddress } from './client-address.ts'
import { readCookie } from './cookies.ts'
import { lookAgainAfterBody } from './json-body.ts'
import { refuseUnknownParameters } from './known-parameters.ts'

type SessionHttpDeps = PeopleDeps & {
  settings: { baseUrl: string }
}

const signedIn = new WeakMap<Response, SignedIn>()

/**
 * Lets through a signed-in person, by session cookie or session JWT; see `sessionOf`. If a request has an `Authorization`
 * header, its cookie is ignored, so that an API key or the internal token never acts as a person. Cross-site requests with
 * the cookie are refused (T22).
 */
export function requireSession(deps: SessionHttpDeps, use: SessionUse = 'counts'): RequestHandler {
  return async function requireSession(request, response, next) {
    const look = async (): Promise<void> => {
      const found = await findSignedIn(deps, request, use)
      if (found === undefined) throw notSignedIn(request)
      signedIn.set(response, found)
    }
    await look()
    lookAgainAfterBody(request, response, look)
    refuseUnknownParameters(request)
    next()
  }
}

/** Tells a caller with an API key that no key works here; otherwise they would look for a fault in the key. */
function notSignedIn(request: Request): Refusal {
  const detail = 'Only a signed-in person may do this, and no API key.'
  return refusal('not_signed_in', bearerToken(request).startsWith('sa_') ? { detail } : {})
}

/** Like `requireSession`, for routes that also work without a session. @throws Refusal `csrf_refused` */
export async function findSignedIn(
  deps: SessionHttpDeps,
  request: Request,
  use: SessionUse = 'counts',
): Promise<SignedIn | undefined> {
  const credential = credentialOf(request, deps.settings.baseUrl)
  if (credential === undefined) return undefined
  refuseForeignOrigin(request, deps.settings.baseUrl, 'cookie' in credential)
  return readSession(deps, credential, use)
}

/** Lets through a session with a proof of the last minutes. Behind `requireSession` and `jsonBody`: a held-back body must gain nothing. */
export function recentProof(deps: PeopleDeps): RequestHandler {
  return async function recentProof(_request, response, next) {
    await requireRecentProof(deps, sessionOf(response))
    next()
  }
}

/** Refuses a JWT, for `POST /session/refresh`: a JWT must not prolong itself. Only behind `requireSession`. */
export const requireCookie: RequestHandler = (request, _response, next) => {
  if (request.get('Authorization') !== undefined) throw refusal('not_signed_in')
  next()
}

/** Returns the signed-in person and their session. Only behind `requireSession`. */
export function sessionOf(response: Response): SignedIn {
  const found = signedIn.get(response)
  if (found === undefined) throw new Error('requireSession is missing on this route')
  return found
}

/** Returns the id of the person or the ids of the key that was let in; empty if nobody was. */
export function whoCalled(response: Response): { key_id?: string; user_id?: string } {
  const found = signedIn.get(response)
  return found === undefined ? callerIds(response) : { user_id: found.user.id }
}

/** Returns the address and user agent of the request, for the new session it may start. */
export function clientOf(request: Request): Client {
  return { address: clientAddress(request), user_agent: request.get('User-Agent') ?? '' }
}

/** Like `clientOf`, with the session that the browser still has: signing in ends that session (T23). */
export async function signingInClient(deps: SessionHttpDeps, request: Request): Promise<Client> {
  return { ...clientOf(request), ...given({ previous: await sessionOfBrowser(deps, request) }) }
}

/** Returns the person and session of the session cookie, whatever other credentials the request has. */
export async function sessionOfBrowser(
  deps: SessionHttpDeps,
  request: Request,
): Promise<SignedIn | undefined> {
  const cookie = readCookie(request, 'session', deps.settings.baseUrl)
  return cookie === undefined ? undefined : readSession(deps, { cookie })
}

function credentialOf(request: Request, baseUrl: string): SessionCredential | undefined {
  if (request.get('Authorization') !== undefined) {
    const bearer = bearerToken(request)
    return bearer === '' ? undefined : { bearer }
  }
  const cookie = readCookie(request, 'session', baseUrl)
  return cookie === undefined ? undefined : { cookie }
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses requests that another site made the browser send (T22). A request with our cookie must name our own origin, and be
 * JSON or a DELETE without a body, neither of which a form can send. A missing `Origin` is also refused, since browsers send it
 * with every such request.
 * @param byCookie whether the request carries a cookie of this service
 * @throws Refusal `csrf_refused`
 */
function refuseForeignOrigin(request: Request, baseUrl: string, byCookie: boolean): void {
  if (SAFE_METHODS.has(request.method)) return
  const origin = request.get('Origin')
  if (origin !== undefined && origin !== baseUrl) throw refusal('csrf_refused')
  if (request.get('Sec-Fetch-Site') === 'cross-site') throw refusal('csrf_refused')
  const bare = request.method === 'DELETE' && request.get('Content-Type') === undefined
  if (byCookie && (origin === undefined || !(bare || isJson(request)))) throw refusal('csrf_refused')
}

/** Refuses cross-site requests on routes that are open to everyone: sign-in and enrolment. */
export function sameOrigin({ settings }: { settings: { baseUrl: string } }): RequestHandler {
  return function sameOrigin(request, _response, next) {
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

/**
 * Runs only the steps for a JWT or, without an `Authorization` header, a session cookie; passes other requests on, also with an
 * internal token, which may hold dots.
 */
export function whenSession<Params extends Record<string, string>>(
  baseUrl: string,
  steps: RequestHandler<Params>[],
): RequestHandler<Params> {
  const inner = Router({ mergeParams: true }).use<Params>(steps)
  return function whenSession(request, response, next) {
    const bare = request.get('Authorization') === undefined
    const byCookie = bare && readCookie(request, 'session', baseUrl) !== undefined
    if (byCookie || /^(?!internal-)[^.]+\.[^.]+\.[^.]+$/.test(bearerToken(request)))
      inner(request, response, next)
    else next()
  }
}

/**
 * Returns the signed-in person as the owner of their account. Only behind `requireSession`.
 * @throws Refusal `not_found` if they have none, for what is found there, or `no_own_account` for what is made
 */
export function ownerOf(
  request: Request,
  response: Response,
  lacking: 'not_found' | 'no_own_account' = 'not_found',
): Owner {
  return asOwner(request, sessionOf(response), lacking)
}

/** Returns this person as the owner of their account. @throws Refusal as `ownerOf` */
export function asOwner(
  request: Request,
  { user }: SignedIn,
  lacking: 'not_found' | 'no_own_account' = 'no_own_account',
): Owner {
  if (user.no_account) throw refusal(lacking)
  const actor = { kind: 'user', id: user.id, address: clientAddress(request) } as const
  return { accountId: user.account_id, actor }
}

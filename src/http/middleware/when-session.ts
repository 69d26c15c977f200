import { type RequestHandler, Router } from 'express'
import { bearerToken } from './authenticate.ts'
import { readCookie } from './cookies.ts'

/** Runs the steps, and ends there, for a JWT or, without an `Authorization` header, a session cookie; others go on. */
export function whenSession<Params extends Record<string, string>>(
  baseUrl: string,
  steps: RequestHandler<Params>[],
): RequestHandler<Params> {
  const inner = Router({ mergeParams: true }).use<Params>(steps)
  return (request, response, next) => {
    const bare = request.get('Authorization') === undefined
    const byCookie = bare && readCookie(request, 'session', baseUrl) !== undefined
    if (byCookie || /^[^.]+\.[^.]+\.[^.]+$/.test(bearerToken(request))) inner(request, response, next)
    else next()
  }
}

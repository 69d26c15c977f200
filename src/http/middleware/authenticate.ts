import { isUtf8 } from 'node:buffer'
import type { Request, RequestHandler, Response } from 'express'
import type { Scope } from '../../domain/api-key.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import {
  authenticateApiKey,
  authenticateInternal,
  type Caller,
  type CallerDeps,
} from '../../flow/keys/authenticate-caller.ts'
import { clientAddress } from './client-address.ts'
import { lookAgainAfterBody } from './json-body.ts'
import { refuseUnknownParameters } from './known-parameters.ts'

const callers = new WeakMap<Response, Caller>()

/** Lets through an API key, or the internal token with `X-Approver-Email`; see `callerOf`. */
export function authenticate(deps: CallerDeps): RequestHandler {
  return async function authenticate(request, response, next) {
    const token = bearerToken(request)
    const email = inUtf8(request.get('X-Approver-Email'))
    const address = clientAddress(request)
    if (token.startsWith('internal-')) {
      callers.set(response, await authenticateInternal(deps, { token, email, address }))
    } else {
      const look = async (): Promise<void> =>
        void callers.set(response, await authenticateApiKey(deps, { token, email, address }))
      await look()
      lookAgainAfterBody(request, response, look)
    }
    refuseUnknownParameters(request)
    next()
  }
}

/** Decodes a header as UTF-8 if it is valid UTF-8: Node reads headers as Latin-1, and clients send addresses in either. */
function inUtf8(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}

/** Refuses callers whose key lacks the scope. */
export function requireScope(scope: Scope): RequestHandler {
  return function requireScope(_request, response, next) {
    if (!callerOf(response).scopes.includes(scope)) throw refusal('insufficient_scope', { scope })
    next()
  }
}

/** Returns the caller whom `authenticate` let in. */
export function callerOf(response: Response): Caller {
  const caller = callers.get(response)
  if (caller === undefined) throw new Error('callerOf needs authenticate before it')
  return caller
}

/** Returns the ids of the caller whom `authenticate` let in, for the log; empty without one. */
export function callerIds(response: Response): { key_id?: string; user_id?: string } {
  const caller = callers.get(response)
  if (caller === undefined) return {}
  const { key, internal_user_id } = caller
  return { key_id: key.id, ...given({ user_id: internal_user_id }) }
}

/** Returns the token of `Authorization: Bearer …` (RFC 6750 §2.1), or an empty string. */
export function bearerToken(request: Request): string {
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(request.get('Authorization') ?? '')?.[1] ?? ''
}

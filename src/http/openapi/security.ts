import type { ZodOpenApiOperationObject, ZodOpenApiSecuritySchemeObject } from 'zod-openapi'
import type { Scope } from '../../domain/account.ts'
import type { DocumentedRefusal } from './refusal-responses.ts'

/** Who may call an operation. */
export type Access =
  | { by: 'nobody in particular' }
  | { by: 'key'; scope?: Scope }
  | { by: 'session'; changes: boolean }
  | { by: 'cookie' }
  | { by: 'key or session'; scope?: Scope }
  /** Open to everybody, but a browser that carries our cookies must come from our own page. */
  | { by: 'own page' }

export const securitySchemes: Record<string, ZodOpenApiSecuritySchemeObject> = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sa_live_… or sa_test_…',
    description: 'An API key. Keys that begin with `sa_test_` run everything dry: no person is asked.',
  },
  internalToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'internal-…',
    description:
      'For trusted services, where the operator has set `INTERNAL_SERVICE_TOKEN`; always together with `X-Approver-Email`.',
  },
  approverEmail: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Approver-Email',
    description: 'With the internal token only: the user in whose account it acts, and who decides.',
  },
  sessionToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A session JWT, good for 15 minutes; signing in and `POST /api/v1/session/refresh` give it out.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-countersign',
    description:
      'Set by signing in (`countersign` on plain-http development). Requests that change something must be JSON and carry the `Origin` of the service.',
  },
}

const SESSION = [{ sessionCookie: [] }, { sessionToken: [] }]

/** The `security` of an operation. */
export function securityOf(access: Access): NonNullable<ZodOpenApiOperationObject['security']> {
  switch (access.by) {
    case 'key':
      return keyWith(access.scope)
    case 'session':
      return SESSION
    case 'cookie':
      return [{ sessionCookie: [] }]
    case 'key or session':
      return [...keyWith(access.scope), ...SESSION]
    case 'own page':
    case 'nobody in particular':
      return []
  }
}

function keyWith(scope: Scope | undefined): NonNullable<ZodOpenApiOperationObject['security']> {
  return [{ apiKey: scope === undefined ? [] : [scope] }, { internalToken: [], approverEmail: [] }]
}

/** What such a caller can be refused for, whatever the operation. */
export function accessRefusals(access: Access): DocumentedRefusal[] {
  switch (access.by) {
    case 'key':
      return keyRefusals(access.scope)
    case 'session':
      return [{ code: 'not_signed_in' }, ...(access.changes ? [{ code: 'csrf_refused' as const }] : [])]
    case 'cookie':
      return [{ code: 'not_signed_in' }, { code: 'csrf_refused' }]
    case 'key or session':
      return [...keyRefusals(access.scope), { code: 'not_signed_in' }]
    case 'own page':
      return [{ code: 'csrf_refused' }]
    case 'nobody in particular':
      return []
  }
}

function keyRefusals(scope: Scope | undefined): DocumentedRefusal[] {
  const scoped = scope === undefined ? [] : [{ code: 'insufficient_scope' as const, with: { scope } }]
  return [...KEY_REFUSALS, ...scoped]
}

const KEY_REFUSALS: readonly DocumentedRefusal[] = [
  { code: 'approver_email_required' },
  { code: 'approver_email_not_allowed' },
  { code: 'invalid or missing API key' },
  { code: 'approver_not_found' },
]

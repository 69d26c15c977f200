import { z } from 'zod'
import { given } from '../domain/given.ts'
import { credential } from './credential.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The address of a stand-in for Microsoft's sign-in. */
const address = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an address')

/** The Teams part of the environment; all unset = no Teams. */
export const teamsVariables = {
  TEAMS_APP_ID: z.string().regex(UUID, 'must be the application (client) id of the bot, a UUID').optional(),
  TEAMS_APP_PASSWORD: credential,
  TEAMS_TENANT_ID: z.string().regex(UUID, 'must be the directory (tenant) id, a UUID').optional(),
  TEAMS_TENANT_NAME: z.string().trim().max(100, 'must be at most 100 characters').optional(),
  TEAMS_OPENID_URL: address.optional(),
  TEAMS_LOGIN_URL: address.optional(),
  TEAMS_SERVICE_HOSTS: z.string().optional(),
  TEAMS_ALLOW_UNAUTHENTICATED: z.enum(['0', '1'], { error: 'must be 1 or 0' }).default('0'),
}

type Values = { [name in keyof typeof teamsVariables]?: string | undefined }

/** How we reach Teams, and how Teams reaches us. */
export interface TeamsSettings {
  /** Empty only together with `unauthenticated`. */
  readonly appId: string
  readonly appPassword: string
  /** The one tenant that is served. */
  readonly tenantId: string
  /** The tenant's name for people: Teams sends only its id. */
  readonly tenantName?: string
  /** OpenID metadata of the Bot Framework's token issuer. */
  readonly openIdUrl: string
  /** Where we get our own tokens. */
  readonly loginUrl: string
  /** Hosts that we may answer besides Microsoft's own: `host` or `host:port`, also over http:. Tests only. */
  readonly serviceHosts: readonly string[]
  /** Accepts activities without a token: for local test clients only, refused in production. */
  readonly unauthenticated: boolean
}

const OPENID_URL = 'https://login.botframework.com/v1/.well-known/openidconfiguration'
const LOGIN_URL = 'https://login.microsoftonline.com'

/** Variables that open the door to test endpoints; set in production, they keep the service from starting. */
const TEST_ONLY = ['TEAMS_OPENID_URL', 'TEAMS_LOGIN_URL', 'TEAMS_SERVICE_HOSTS'] as const

/** Reads the Teams part; undefined when none of it is set. Adds missing and forbidden settings to `problems`. */
export function readTeams(
  values: Values,
  production: boolean,
  problems: string[],
): TeamsSettings | undefined {
  const unauthenticated = values.TEAMS_ALLOW_UNAUTHENTICATED === '1'
  const { TEAMS_APP_ID, TEAMS_APP_PASSWORD, TEAMS_TENANT_ID } = values
  const testOnly = TEST_ONLY.filter((name) => values[name] !== undefined)
  const own = [TEAMS_APP_ID, TEAMS_APP_PASSWORD, TEAMS_TENANT_ID]
  if (own.every((value) => value === undefined) && testOnly.length === 0 && !unauthenticated) return undefined
  const before = problems.length
  if (production) {
    for (const name of testOnly) problems.push(`${name}: is for tests; must be unset in production`)
    if (unauthenticated) {
      problems.push(
        'TEAMS_ALLOW_UNAUTHENTICATED: must not be 1 in production, anyone could speak as any person',
      )
    }
  }
  if (!unauthenticated) {
    if (TEAMS_APP_ID === undefined)
      problems.push('TEAMS_APP_ID: must be set, an empty one would switch checks off')
    if (TEAMS_APP_PASSWORD === undefined)
      problems.push('TEAMS_APP_PASSWORD: must be set, a client secret of the app')
  }
  if (TEAMS_TENANT_ID === undefined) problems.push('TEAMS_TENANT_ID: must be set, the tenant that is served')
  if (problems.length > before) return undefined
  return Object.freeze({
    // Lower case, as in tokens.
    appId: unauthenticated ? '' : (TEAMS_APP_ID ?? '').toLowerCase(),
    appPassword: unauthenticated ? '' : (TEAMS_APP_PASSWORD ?? ''),
    tenantId: (TEAMS_TENANT_ID ?? '').toLowerCase(),
    ...given({ tenantName: values.TEAMS_TENANT_NAME || undefined }),
    openIdUrl: values.TEAMS_OPENID_URL ?? OPENID_URL,
    loginUrl: withoutSlash(values.TEAMS_LOGIN_URL ?? LOGIN_URL),
    serviceHosts: Object.freeze(
      (values.TEAMS_SERVICE_HOSTS ?? '')
        .split(',')
        .map((host) => host.trim())
        .filter(Boolean),
    ),
    unauthenticated,
  })
}

function withoutSlash(address: string): string {
  return address.endsWith('/') ? withoutSlash(address.slice(0, -1)) : address
}

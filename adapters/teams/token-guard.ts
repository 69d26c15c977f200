import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import { type Refusal, refusal } from '../../src/domain/errors.ts'
import { parseJson } from '../../src/domain/parse-json.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { type SeldomWarning, warnSeldom } from '../../src/ports/warn-seldom.ts'
import { fetchJson } from './fetch-json.ts'

/** The claims of a token that passed. */
export interface TokenClaims {
  /** The address to which answers may go. */
  serviceUrl: string
}

const TOKEN_ISSUER = 'https://api.botframework.com'
const CHANNEL = 'msteams'
const SKEW_S = 300
const BEARER = /^Bearer ([\w-]{1,2000})\.([\w-]{1,12000})\.([\w-]{1,2000})$/

const headerSchema = z.object({
  alg: z.literal('RS256'),
  kid: z.string().min(1),
  crit: z.undefined().optional(),
})
const claimsSchema = z.object({
  iss: z.literal(TOKEN_ISSUER),
  aud: z.string(),
  appid: z.string().optional(),
  azp: z.string().optional(),
  exp: z.number(),
  nbf: z.number().optional(),
  serviceurl: z.string(),
})

/**
 * Checks the bearer token of an activity (T39): signed RS256 with a key of the pinned document that is endorsed for Teams,
 * issued by the Bot Framework, for this bot, valid now. The only check: the library is told that it was made.
 * @throws Refusal `chat_token_refused`; `chat_keys_unavailable` when there is no key to check with
 */
export function createTokenGuard(
  appId: string,
  keys: TokenKeys,
  { clock, log }: Pick<FlowDeps, 'clock' | 'log'>,
): (authorization: string | undefined) => Promise<TokenClaims> {
  // Open to the internet: strangers must not be able to fill the log. Each reason has its own rate-limited warning.
  const refused = new Map<string, SeldomWarning>()
  const refuse = (reason: string): Refusal => {
    const warning = refused.get(reason) ?? warnSeldom(log, 'a token from Teams was refused')
    refused.set(reason, warning)
    warning.failed(reason)
    return refusal('chat_token_refused')
  }
  return async (authorization) => {
    const [, head, body, signature] = BEARER.exec(authorization ?? '') ?? []
    if (head === undefined || body === undefined || signature === undefined) throw refuse('no_token')
    const header = headerSchema.safeParse(decoded(head))
    if (!header.success) throw refuse('header')
    const claims = claimsSchema.safeParse(decoded(body))
    if (!claims.success) throw refuse('claims')
    const { aud, appid = aud, azp = aud, exp, nbf = 0, serviceurl } = claims.data
    if (aud !== appId) throw refuse('audience')
    // A bot that calls this one as a skill names itself, by version 1 or 2 of the token. Teams names nobody.
    if (appid !== appId || azp !== appId) throw refuse('appid')
    const now = clock.now().getTime() / 1000
    if (now > exp + SKEW_S || now < nbf - SKEW_S) throw refuse('time')
    const found = await keys.find(header.data.kid).catch(() => {
      throw refusal('chat_keys_unavailable')
    })
    if (found === undefined) throw refuse('unknown_key')
    if (!found.endorsements.includes(CHANNEL)) throw refuse('endorsement')
    const signed = Buffer.from(`${head}.${body}`, 'ascii')
    if (!verify('sha256', signed, found.key, Buffer.from(signature, 'base64url'))) throw refuse('signature')
    return { serviceUrl: serviceurl }
  }
}

function decoded(part: string): unknown {
  return parseJson(Buffer.from(part, 'base64url').toString('utf8'))
}

/** A public key for tokens that Microsoft signs. */
interface TokenKey {
  key: KeyObject
  /** Channels for which the key may sign. */
  endorsements: readonly string[]
}

/** The keys of the pinned OpenID document. */
type TokenKeys = ReturnType<typeof createTokenKeys>

const DEADLINE_MS = 5_000
/** Milliseconds until keys are read again. Microsoft demands at least once a day, and publishes keys long before using them. */
const FRESH_MS = 24 * 3_600_000
/** Milliseconds between reads after a failure or for an unknown key: invented key ids must not make us read all the time. */
const SHORTEST_GAP_MS = 5 * 60_000
const SMALLEST_MODULUS = 2048

const metadataSchema = z.object({ jwks_uri: z.string() })
const jwksSchema = z.object({ keys: z.array(z.unknown()).max(200) })
const jwkSchema = z.object({
  kty: z.literal('RSA'),
  kid: z.string(),
  n: z.string(),
  e: z.string(),
  endorsements: z.array(z.string()).catch([]),
})

/** Reads the keys when first needed, keeps them for a day, and keeps using old ones while Microsoft does not answer. */
export function createTokenKeys(openIdUrl: string, { clock, log }: Pick<FlowDeps, 'clock' | 'log'>) {
  let keys: ReadonlyMap<string, TokenKey> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    askedAt = clock.steady()
    try {
      keys = await readTokenKeys(openIdUrl)
      readAt = askedAt
    } catch (error) {
      log.warn({ error }, 'reading the keys of Teams failed')
      if (keys === undefined) throw error
    }
  }
  const refresh = (): Promise<void> => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
  return {
    /** @throws when the keys could never be read */
    async find(keyId: string): Promise<TokenKey | undefined> {
      const now = clock.steady()
      const wanted = now - readAt > FRESH_MS || keys?.has(keyId) !== true
      if (keys === undefined || (wanted && now - askedAt > SHORTEST_GAP_MS)) await refresh()
      return keys?.get(keyId)
    },
  }
}

/**
 * Reads the OpenID document and its keys, by key id.
 * @throws FetchFailure, ZodError or Error when there is no such document, or an https: document refers to keys over http:
 */
export async function readTokenKeys(openIdUrl: string): Promise<Map<string, TokenKey>> {
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const { jwks_uri } = metadataSchema.parse(await fetchJson(openIdUrl, { signal }))
  if (!jwks_uri.startsWith('https:') && openIdUrl.startsWith('https:'))
    throw new Error('jwks_uri is not https:')
  const { keys } = jwksSchema.parse(await fetchJson(jwks_uri, { signal }))
  return new Map(keys.flatMap(usable))
}

/** Skips keys of other kinds, and small RSA keys, which prove nothing. */
function usable(jwk: unknown): [string, TokenKey][] {
  const read = jwkSchema.safeParse(jwk)
  if (!read.success) return []
  const { kid, endorsements, kty, n, e } = read.data
  const key = createPublicKey({ key: { kty, n, e }, format: 'jwk' })
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return bits < SMALLEST_MODULUS ? [] : [[kid, { key, endorsements }]]
}

import { verify } from 'node:crypto'
import { z } from 'zod'
import { type Refusal, refusal } from '../../src/domain/errors.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { parsed } from './fetch-json.ts'
import type { TokenKeys } from './token-keys.ts'

/** What a token that passed says. */
export interface TokenClaims {
  /** The address answers may go to. */
  serviceUrl: string
}

export const TOKEN_ISSUER = 'https://api.botframework.com'
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
  exp: z.number(),
  nbf: z.number().optional(),
  serviceurl: z.string(),
})

/**
 * Checks the bearer token of an activity (T39): RS256 by a key of the pinned document that is endorsed for Teams, from the
 * Bot Framework, for this bot, now. The library checks the same once more; on its own it accepts tokens of other issuers and
 * without an end, keys that nobody endorsed, and answers a wrong key with 500 and a stack on the console.
 * @throws Refusal `chat_token_refused`; `chat_keys_unavailable` when there is no key to check with
 */
export function createTokenGuard(
  appId: string,
  keys: TokenKeys,
  { clock, log }: Pick<FlowDeps, 'clock' | 'log'>,
): (authorization: string | undefined) => Promise<TokenClaims> {
  const refuse = (reason: string): Refusal => {
    log.info({ reason }, 'a token for Teams was refused')
    return refusal('chat_token_refused')
  }
  return async (authorization) => {
    const [, head, body, signature] = BEARER.exec(authorization ?? '') ?? []
    if (head === undefined || body === undefined || signature === undefined) throw refuse('no_token')
    const header = headerSchema.safeParse(decoded(head))
    if (!header.success) throw refuse('header')
    const claims = claimsSchema.safeParse(decoded(body))
    if (!claims.success) throw refuse('claims')
    const { aud, exp, nbf = 0, serviceurl } = claims.data
    if (aud !== appId) throw refuse('audience')
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
  return parsed(Buffer.from(part, 'base64url').toString('utf8'))
}

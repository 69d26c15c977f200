import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { fetchJson } from './fetch-json.ts'

/** A key with which Microsoft signs what it sends us. */
export interface TokenKey {
  key: KeyObject
  /** Channels it may speak for. */
  endorsements: readonly string[]
}

/** The keys of the pinned OpenID document. */
export interface TokenKeys {
  /** @throws when the keys could never be read */
  find(keyId: string): Promise<TokenKey | undefined>
}

const DEADLINE_MS = 5_000
/** Microsoft asks for once a day at least; keys are published long before they are used. */
const FRESH_MS = 24 * 3_600_000
/** A key that is not there may be new, but whoever invents key ids must not make us ask all the time. */
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

/** Reads the keys when they are first needed, keeps them for a day, and keeps old ones while nobody answers. */
export function createTokenKeys(
  openIdUrl: string,
  { clock, log }: Pick<FlowDeps, 'clock' | 'log'>,
): TokenKeys {
  let keys: ReadonlyMap<string, TokenKey> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    askedAt = clock.now().getTime()
    try {
      keys = await readTokenKeys(openIdUrl)
    } catch (error) {
      log.warn({ error }, 'the keys of Teams could not be read')
      if (keys !== undefined) return
      askedAt = Number.NEGATIVE_INFINITY
      throw error
    }
  }
  const refresh = (): Promise<void> => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
  return {
    async find(keyId) {
      const age = clock.now().getTime() - askedAt
      if (keys === undefined || age > FRESH_MS || (!keys.has(keyId) && age > SHORTEST_GAP_MS)) await refresh()
      return keys?.get(keyId)
    },
  }
}

/**
 * Reads the document and its keys, by key id.
 * @throws FetchFailure, ZodError or Error when there is no such document, or it leads to keys over http:
 */
export async function readTokenKeys(openIdUrl: string): Promise<Map<string, TokenKey>> {
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const { jwks_uri } = metadataSchema.parse(await fetchJson(openIdUrl, { signal }))
  if (!jwks_uri.startsWith('https:') && openIdUrl.startsWith('https:'))
    throw new Error('jwks_uri is not https:')
  const { keys } = jwksSchema.parse(await fetchJson(jwks_uri, { signal }))
  return new Map(keys.flatMap(usable))
}

/** Keys of other kinds may stand among them; small ones prove nothing. */
function usable(jwk: unknown): [string, TokenKey][] {
  const read = jwkSchema.safeParse(jwk)
  if (!read.success) return []
  const { kid, endorsements, kty, n, e } = read.data
  const key = createPublicKey({ key: { kty, n, e }, format: 'jwk' })
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return bits < SMALLEST_MODULUS ? [] : [[kid, { key, endorsements }]]
}

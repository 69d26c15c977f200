import { createPrivateKey, type KeyObject } from 'node:crypto'
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { toBase64Url } from './base64.ts'
import { toKeyObject } from './ed25519-node.ts'
import type { PublicKeyRecord, SigningKey } from './key-record.ts'
import { type KeyRing, NoSigningKeyError } from './keys.ts'

/** Issues and checks session JWTs. */
export interface SessionTokens {
  /** EdDSA JWT, `typ: session+jwt`, 15 minutes. `expires_in` in seconds. */
  issue(session: { id: string; user_id: string }, at: Date): Promise<{ token: string; expires_in: number }>
  /**
   * @returns the ids in a genuine, unexpired token, else undefined. The caller checks whether the session is still live.
   */
  verify(token: string, at: Date): Promise<{ session_id: string; user_id: string } | undefined>
}

/** Validity of a session JWT in seconds. */
const SESSION_TOKEN_SECONDS = 15 * 60

/** The keys for session tokens: `ring` for signing, `find` for any key by its id. */
export interface SessionKeys {
  ring(): Pick<KeyRing, 'active'>
  find(kid: string): Promise<PublicKeyRecord | undefined>
}

const TYPE = 'session+jwt'
const ALGORITHM = 'EdDSA'

/** Processes follow the database's clock, but whole seconds may still round differently. */
const TOLERANCE_SECONDS = 5

/**
 * Session JWTs for one service: `iss` and `aud` are its BASE_URL. Only EdDSA under one of our own `session` keys counts
 * (T56): keys and key URLs in a token's header are ignored; its `kid` only selects one of our keys.
 */
export function createSessionTokens(keys: SessionKeys, baseUrl: string): SessionTokens {
  return {
    async issue(session, at) {
      const key = keys.ring().active('session', at)
      if (key === undefined) throw new NoSigningKeyError('session')
      const now = Math.floor(at.getTime() / 1000)
      const token = await new SignJWT({ sid: session.id })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: key.kid })
        .setIssuer(baseUrl)
        .setAudience(baseUrl)
        .setSubject(session.user_id)
        .setIssuedAt(now)
        .setExpirationTime(now + SESSION_TOKEN_SECONDS)
        .sign(privateKeyOf(key))
      return { token, expires_in: SESSION_TOKEN_SECONDS }
    },
    async verify(token, at) {
      const kid = kidOf(token)
      // Outside the `try`: a store that does not answer must not make a token look forged.
      const key = kid === undefined ? undefined : usable(await keys.find(kid))
      if (key === undefined) return undefined
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          typ: TYPE,
          issuer: baseUrl,
          audience: baseUrl,
          requiredClaims: ['exp', 'iat', 'sub', 'sid'],
          maxTokenAge: SESSION_TOKEN_SECONDS,
          clockTolerance: TOLERANCE_SECONDS,
          currentDate: at,
        })
        const { sid, sub, aud } = payload
        // A single audience only: a token with a list of them was made for another service too.
        if (typeof sid !== 'string' || typeof sub !== 'string' || typeof aud !== 'string') return undefined
        return { session_id: sid, user_id: sub }
      } catch {
        return undefined
      }
    },
  }
}

/** Returns the kid that a token names, if the token can be read. */
function kidOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid
  } catch {
    return undefined
  }
}

/** Returns the public key if it was made for sessions and is not revoked. */
function usable(key: PublicKeyRecord | undefined): KeyObject | undefined {
  if (key === undefined || key.purpose !== 'session' || key.revokedAt !== undefined) return undefined
  return toKeyObject(key.publicKey)
}

/** Cached for as long as the ring holds the key: jose also caches by key object. */
const privateKeys = new WeakMap<SigningKey, KeyObject>()

function privateKeyOf(key: SigningKey): KeyObject {
  const known = privateKeys.get(key)
  if (known !== undefined) return known
  // RFC 8037 section 2.
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: toBase64Url(key.publicKey), d: toBase64Url(key.seed) }
  const read = createPrivateKey({ key: jwk, format: 'jwk' })
  privateKeys.set(key, read)
  return read
}

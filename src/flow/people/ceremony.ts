import { fromBase64Url, sha256Hex, toBase64Url } from '../../signing/encoding.ts'

/** What authenticators and authenticator apps call the service. */
export const SERVICE_NAME = 'Countersign'

/** The one place passkeys of this service belong to. Exactly one pair: lists would let an origin meet another's id (T32). */
export interface RelyingParty {
  /** BASE_URL's origin. */
  origin: string
  /** Its host name. */
  rpId: string
  /** What authenticators show. */
  name: string
}

/** A WebAuthn response was not what was asked for. The reason is for the log; the person is told no more than "refused". */
export class CeremonyError extends Error {
  override readonly name = 'CeremonyError'
}

/** How long a challenge may be answered (T33), in milliseconds. */
export const CHALLENGE_MS = 5 * 60_000

/** Id under which a challenge is stored: hex SHA-256 of its bytes. */
export function challengeId(challenge: Uint8Array): string {
  return sha256Hex(challenge)
}

/**
 * The challenge a response claims to answer, to look it up with. Nothing is verified yet.
 * @returns undefined when the client data cannot be read.
 */
export function claimedChallenge(response: { response: { clientDataJSON: string } }): Uint8Array | undefined {
  try {
    const { challenge } = parseClientData(response.response.clientDataJSON)
    return typeof challenge === 'string' ? fromBase64Url(challenge) : undefined
  } catch {
    return undefined
  }
}

/**
 * Checks the client data as WebAuthn L3 §7.1/§7.2 ask, and stricter: our page is never framed, so `crossOrigin: true` and
 * any `topOrigin` are refused (T21); the library lets the former pass when `topOrigin` is missing.
 * @throws CeremonyError
 */
export function checkClientData(
  clientDataJSON: string,
  expected: { type: 'webauthn.create' | 'webauthn.get'; challenge: Uint8Array; origin: string },
): void {
  const data = parseClientData(clientDataJSON)
  if (data.type !== expected.type) throw new CeremonyError('client data has another type')
  if (data.challenge !== toBase64Url(expected.challenge))
    throw new CeremonyError('client data has another challenge')
  if (data.origin !== expected.origin) throw new CeremonyError('client data has another origin')
  if (data.crossOrigin !== undefined && data.crossOrigin !== false)
    throw new CeremonyError('client data is cross-origin')
  if (data.topOrigin !== undefined) throw new CeremonyError('client data has a top origin')
}

function parseClientData(clientDataJSON: string): Record<string, unknown> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(fromBase64Url(clientDataJSON))
    const data: unknown = JSON.parse(text)
    if (data !== null && typeof data === 'object' && !Array.isArray(data)) return { ...data }
  } catch (cause) {
    throw new CeremonyError('client data cannot be read', { cause })
  }
  throw new CeremonyError('client data is not an object')
}

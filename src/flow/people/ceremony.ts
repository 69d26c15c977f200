import { refusal } from '../../domain/errors.ts'
import { fromBase64Url, sha256Hex, toBase64Url } from '../../signing/encoding.ts'
import type { Challenge, ChallengePurpose } from '../../store/challenges.ts'
import type { PeopleDeps } from '../deps.ts'

/** What authenticators and authenticator apps call the service. */
export const SERVICE_NAME = 'Countersign'

/** A WebAuthn response was not what was asked for. The reason is for the log; the person learns no more than "refused". */
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

/** What a new challenge is bound to. */
type ChallengeBinding = Omit<Challenge, 'id' | 'expires_at'>

/** Draws a challenge (32 bytes, WebAuthn L3 §13.4.3 asks for 16) and stores its hash for five minutes. */
export async function drawChallenge(
  deps: Pick<PeopleDeps, 'challenges' | 'clock' | 'random'>,
  binding: ChallengeBinding,
): Promise<Uint8Array> {
  const challenge = deps.random.bytes(32)
  const expires_at = new Date(deps.clock.now().getTime() + CHALLENGE_MS)
  await deps.challenges.put({ ...binding, id: challengeId(challenge), expires_at })
  return challenge
}

/**
 * Takes the challenge a response answers, before anything is verified: whatever comes of it, it is used up (T33).
 * @param belongs what it must be bound to; every named field must be equal
 * @throws Refusal `challenge_invalid`
 */
export async function takeChallenge(
  deps: Pick<PeopleDeps, 'challenges'>,
  response: { response: { clientDataJSON: string } },
  purpose: ChallengePurpose,
  belongs: Partial<Pick<Challenge, 'user_id' | 'session_id' | 'subject' | 'request_id'>> = {},
): Promise<{ expectedChallenge: Uint8Array; challenge: Challenge }> {
  const expectedChallenge = claimedChallenge(response)
  if (expectedChallenge === undefined) throw refusal('challenge_invalid')
  const challenge = await deps.challenges.take(challengeId(expectedChallenge), purpose)
  if (challenge === undefined) throw refusal('challenge_invalid')
  const same =
    (belongs.user_id ?? challenge.user_id) === challenge.user_id &&
    (belongs.session_id ?? challenge.session_id) === challenge.session_id &&
    (belongs.subject ?? challenge.subject) === challenge.subject &&
    (belongs.request_id ?? challenge.request_id) === challenge.request_id
  if (!same) throw refusal('challenge_invalid')
  return { expectedChallenge, challenge }
}

import { refusal } from '../../domain/errors.ts'
import type { BatchIntent, ConsentIntent, DecisionIntent } from '../../domain/intent.ts'
import { hasTwins } from '../../domain/parse-json.ts'
import { fromBase64Url, toBase64Url } from '../../signing/base64.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { intentDigest } from '../../signing/commitment.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { Challenge, ChallengePurpose } from '../../store/requests/challenges.ts'
import type { PeopleDeps } from '../deps.ts'

/** A WebAuthn response is not as required. The reason is for the log; the person learns no more than "refused". */
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
 * Reads the challenge that a response claims to answer, to look it up. Nothing is verified yet, and the parsing
 * is lenient, so that a response that is refused later uses up its challenge.
 * @returns undefined when the client data cannot be read.
 */
export function claimedChallenge(response: { response: { clientDataJSON: string } }): Uint8Array | undefined {
  try {
    const { challenge } = parseClientData(textOf(response.response.clientDataJSON).replace(/^\ufeff/, ''))
    return typeof challenge === 'string' ? fromBase64Url(challenge) : undefined
  } catch {
    return undefined
  }
}

/**
 * Checks the client data as WebAuthn L3 §7.1/§7.2 require, and more strictly: our page is never framed, so `crossOrigin: true`
 * and any `topOrigin` are refused (T21); the library accepts `crossOrigin: true` without a `topOrigin`. The data is kept as
 * evidence, so every JSON parser must find the same members in it. Unknown members pass: browsers add them on purpose (§5.8.1).
 * @throws CeremonyError
 */
export function checkClientData(
  clientDataJSON: string,
  expected: { type: 'webauthn.create' | 'webauthn.get'; challenge: Uint8Array; origin: string },
): void {
  const text = textOf(clientDataJSON)
  const data = parseClientData(text)
  if (hasTwins(text, fold)) throw new CeremonyError('client data names a member twice')
  if (
    Object.keys(data).some(
      (name) => MEMBERS.get(fold(name)) !== undefined && MEMBERS.get(fold(name)) !== name,
    )
  )
    throw new CeremonyError('client data spells a member in another way')
  if (data.type !== expected.type) throw new CeremonyError('client data has another type')
  if (data.challenge !== toBase64Url(expected.challenge))
    throw new CeremonyError('client data has another challenge')
  if (data.origin !== expected.origin) throw new CeremonyError('client data has another origin')
  if (data.crossOrigin !== undefined && data.crossOrigin !== false)
    throw new CeremonyError('client data is cross-origin')
  if (data.topOrigin !== undefined) throw new CeremonyError('client data has a top origin')
}

function textOf(clientDataJSON: string): string {
  try {
    // ignoreBOM keeps a leading U+FEFF in the text, so that parsing it fails: other parsers would not skip it either.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fromBase64Url(clientDataJSON))
  } catch (cause) {
    throw new CeremonyError('client data cannot be read', { cause })
  }
}

function parseClientData(text: string): Record<string, unknown> {
  try {
    const data: unknown = JSON.parse(text)
    if (data !== null && typeof data === 'object' && !Array.isArray(data)) return { ...data }
  } catch (cause) {
    throw new CeremonyError('client data cannot be read', { cause })
  }
  throw new CeremonyError('client data is not an object')
}

/** Folds a name as case-insensitive parsers do, including `ſ` and the Kelvin sign. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase()
}

const MEMBERS = new Map(
  ['type', 'challenge', 'origin', 'crossOrigin', 'topOrigin'].map((name) => [fold(name), name]),
)

/** What a new challenge is bound to. */
type ChallengeBinding = Omit<Challenge, 'id' | 'expires_at'>

/** Draws a challenge (32 bytes, WebAuthn L3 §13.4.3 asks for 16) and stores its hash for five minutes. */
export function drawChallenge(deps: PeopleDeps, binding: ChallengeBinding): Promise<Uint8Array> {
  return keepChallenge(deps, deps.random.bytes(32), binding)
}

/** Makes the hash of what a person consents to the challenge, and stores the statement with it. */
export function stateChallenge(
  deps: PeopleDeps,
  intent: DecisionIntent | ConsentIntent | BatchIntent,
  binding: ChallengeBinding,
): Promise<Uint8Array> {
  return keepChallenge(deps, intentDigest(intent), { ...binding, intent_json: canonicalize(intent) })
}

async function keepChallenge(deps: PeopleDeps, challenge: Uint8Array, binding: ChallengeBinding) {
  const expires_at = new Date(deps.clock.now().getTime() + CHALLENGE_MS)
  await deps.challenges.put({ ...binding, id: challengeId(challenge), expires_at })
  return challenge
}

/**
 * Takes the challenge that a response answers, before anything is verified: the challenge is used up in any case (T33).
 * @param belongs what the challenge must be bound to; every field given must be equal
 * @throws Refusal `challenge_invalid`
 */
export async function takeChallenge(
  deps: PeopleDeps,
  response: { response: { clientDataJSON: string } },
  purpose: ChallengePurpose,
  belongs: Partial<Pick<Challenge, 'user_id' | 'session_id' | 'subject'>> = {},
): Promise<{ expectedChallenge: Uint8Array; challenge: Challenge }> {
  const expectedChallenge = claimedChallenge(response)
  if (expectedChallenge === undefined) throw refusal('challenge_invalid')
  const challenge = await deps.challenges.take(challengeId(expectedChallenge), purpose)
  if (challenge === undefined) throw refusal('challenge_invalid')
  const same =
    (belongs.user_id ?? challenge.user_id) === challenge.user_id &&
    (belongs.session_id ?? challenge.session_id) === challenge.session_id &&
    (belongs.subject ?? challenge.subject) === challenge.subject
  if (!same) throw refusal('challenge_invalid')
  return { expectedChallenge, challenge }
}

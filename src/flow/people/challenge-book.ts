import { refusal } from '../../domain/errors.ts'
import type { Challenge, ChallengePurpose } from '../../store/challenges.ts'
import { CHALLENGE_MS, challengeId, claimedChallenge } from './ceremony.ts'
import type { PeopleDeps } from './people-deps.ts'

/** What a new challenge is bound to. */
export type ChallengeBinding = Omit<Challenge, 'id' | 'expires_at'>

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

import { refusal } from '../../domain/errors.ts'
import type { PeopleDeps } from '../deps.ts'
import type { SignedIn } from './sessions.ts'
import { type Proof, proveFactor } from './step-up.ts'

/**
 * How long a proof of presence counts for operations that hand out or replace secrets: as long as a session JWT, so that a caller
 * who signs in and then makes a key, as the interface describes, is asked for nothing more.
 */
const RECENT_MINUTES = 15

/** Checks whether the person proved presence in this session within the last `RECENT_MINUTES`. */
export function isRecentlyProven(
  { clock }: Pick<PeopleDeps, 'clock'>,
  { session }: Pick<SignedIn, 'session'>,
): boolean {
  const since = clock.now().getTime() - RECENT_MINUTES * 60_000
  return session.proven_at !== undefined && session.proven_at.getTime() > since
}

/**
 * Guards what a stolen session alone must not do: make keys, change where news goes, or read the secrets that sign callbacks
 * (T34). A change of who decides needs more: a proof for that change alone (`proveFactor`).
 * @throws Refusal `proof_required`, saying what to do
 */
export function requireRecentProof(deps: Pick<PeopleDeps, 'clock'>, who: SignedIn): void {
  if (isRecentlyProven(deps, who)) return
  throw refusal('proof_required', {
    detail: `This needs a sign-in or a confirmation within the last ${RECENT_MINUTES} minutes. To confirm, ask POST /api/v1/me/step-up/options for the operation session.prove, send the proof to POST /api/v1/session/proof, then try again.`,
  })
}

/**
 * Notes a fresh proof in the session. @returns until when it counts
 * @throws Refusal those of `proveFactor`, and `not_signed_in` for a session that ended meanwhile
 */
export async function proveSession(
  deps: PeopleDeps,
  who: SignedIn,
  proof: Proof | undefined,
  address: string,
): Promise<Date> {
  await proveFactor(deps, who, { operation: 'session.prove' }, proof, address)
  const at = deps.clock.now()
  if (!(await deps.sessions.noteProof(who.session.id, at))) throw refusal('not_signed_in')
  return new Date(at.getTime() + RECENT_MINUTES * 60_000)
}

import { refusal } from '../../domain/errors.ts'
import { factorsOf, type User, usablePasskeys } from '../../domain/user.ts'
import type { PeopleDeps } from '../deps.ts'
import { ownRule } from './accounts.ts'
import { countsToday } from './authenticator-models.ts'
import type { SignedIn } from './sessions.ts'
import { type Proof, proveFactor } from './step-up.ts'

/**
 * How long a proof of presence counts for operations that hand out or replace secrets: as long as a session JWT, so that a caller
 * who signs in and then makes a key, as the interface describes, is asked for nothing more.
 */
const RECENT_MINUTES = 15

/** Checks whether the person proved presence in this session within the last `RECENT_MINUTES`, by a factor that still counts. */
export async function isRecentlyProven(deps: PeopleDeps, who: SignedIn): Promise<boolean> {
  const since = deps.clock.now().getTime() - RECENT_MINUTES * 60_000
  const { proven_at: at } = who.session
  return at !== undefined && at.getTime() > since && isProven(deps, who)
}

/** Checks whether the person ever proved presence in this session by a factor that still counts: enough to end what was begun. */
export async function isProven(deps: PeopleDeps, { session, user }: SignedIn): Promise<boolean> {
  const { proven_at: at, proven_by: by } = session
  return at !== undefined && by !== undefined && stillCounts(deps, user, { by, at })
}

/**
 * Checks whether the person still has the factor of an earlier proof, and whether their own account counts it now. Otherwise a
 * copy of a passkey, found out meanwhile, or a passkey from before a stricter rule would go on to make keys (T30, T88).
 * @param proof as `Session.proven_by` and `proven_at`
 */
export async function stillCounts(
  deps: PeopleDeps,
  user: User,
  { by, at }: { by: string; at: Date },
): Promise<boolean> {
  const rule = await ownRule(deps, user)
  if (by !== 'totp')
    return usablePasskeys(user).some((one) => one.credential_id === by && countsToday(deps.models, rule, one))
  const { totp } = user
  return rule === undefined && totp !== undefined && factorsOf(user).has_totp && totp.confirmed_at <= at
}

/**
 * Guards what a stolen session alone must not do: make keys, change where news goes (webhooks, browsers), or read the secrets that sign callbacks
 * (T34). A change of who decides needs more: a proof for that operation on that person or key (`proveFactor`).
 * @throws Refusal `proof_required`, saying what to do
 */
export async function requireRecentProof(deps: PeopleDeps, who: SignedIn): Promise<void> {
  if (await isRecentlyProven(deps, who)) return
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
  const by = await proveFactor(deps, who, { operation: 'session.prove' }, proof, address)
  const at = deps.clock.now()
  if (!(await deps.sessions.noteProof(who.session.id, at, by))) throw refusal('not_signed_in')
  return new Date(at.getTime() + RECENT_MINUTES * 60_000)
}

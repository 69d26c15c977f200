import { type Bootstrap, readMatchingCode, WRONG_CODES } from '../../domain/bootstrap.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import type { User } from '../../domain/user.ts'
import { bootstrapAudit } from './bootstrap-trace.ts'
import { type ReviewConsentDeps, readOwnBootstrap } from './review-consent.ts'

/** Lost races in a row: each means that another wrong code was counted, so there can only be that many. */
const MAX_ATTEMPTS = WRONG_CODES + 1

/**
 * Holds what the owner typed against the code that the caller shows (T48). The third wrong one rejects: whoever types codes of
 * somebody else's screen was asked to, or guesses. What is no code at all is a slip and counts for nothing.
 * @throws Refusal `invalid_field`, `wrong_matching_code` (with `detail` saying what is left), `not_pending`
 */
export async function checkMatchingCode(
  deps: ReviewConsentDeps,
  person: User,
  bootstrap: Bootstrap,
  typed: string,
  address: string,
): Promise<void> {
  const code = readMatchingCode(typed)
  if (code === undefined) throw invalidField('code', 'must be eight letters, like BDWP-HQPK')
  if (code === bootstrap.code) return
  let current = bootstrap
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (current.status !== 'pending') throw refusal('not_pending', { status: current.status })
    const last = current.wrong_codes + 1 >= WRONG_CODES
    const counted = await deps.bootstraps.countWrongCode(
      current.id,
      current.wrong_codes,
      last ? rejection(deps, current, person, address) : undefined,
    )
    if (counted !== undefined) throw wrong(counted)
    current = await readOwnBootstrap(deps, person, bootstrap.id)
  }
  throw refusal('unavailable')
}

function rejection(deps: ReviewConsentDeps, bootstrap: Bootstrap, person: User, address: string) {
  return bootstrapAudit(deps, 'bootstrap.rejected', bootstrap, {
    actor: { kind: 'user', id: person.id, address },
    at: deps.clock.now(),
    detail: { wrong_codes: WRONG_CODES },
  })
}

function wrong({ status, wrong_codes }: Bootstrap) {
  const left = WRONG_CODES - wrong_codes
  if (status === 'rejected')
    return refusal('wrong_matching_code', {
      field: 'code',
      status,
      detail: 'That was the third wrong code. The request is rejected; nobody gets a key.',
    })
  const tries = left === 1 ? 'one more try' : `${left} more tries`
  return refusal('wrong_matching_code', {
    field: 'code',
    status,
    detail: `This is not the code of this request. You have ${tries}; if the codes differ, reject.`,
  })
}

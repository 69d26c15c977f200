import { refusal } from '../../domain/errors.ts'
import { CeremonyError } from './ceremony.ts'
import { type AssertionInput, type CheckedAssertion, checkAssertion } from './check-assertion.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'

type VerifyAssertionDeps = Pick<PeopleDeps, 'users' | 'party' | 'clock' | 'random' | 'log'>

/**
 * Verifies an assertion of this person and books the use of the passkey; the challenge must have been taken from its
 * store before (T33). State changes only after every check passed. A counter that does not grow means a copy may exist:
 * the passkey is suspended (T30); authenticators without a counter say 0 for ever.
 * @throws Refusal `passkey_refused`
 */
export async function verifyAssertion(
  deps: VerifyAssertionDeps,
  input: AssertionInput,
): Promise<CheckedAssertion> {
  try {
    const checked = await checkAssertion(deps.party, input)
    await book(deps, input, checked)
    return checked
  } catch (error) {
    if (!(error instanceof CeremonyError)) throw error
    deps.log.info({ user_id: input.user.id, reason: error.message }, 'passkey refused')
    throw refusal('passkey_refused')
  }
}

async function book(deps: VerifyAssertionDeps, { user }: AssertionInput, checked: CheckedAssertion) {
  const { passkey, counter, synced } = checked
  const at = deps.clock.now()
  if (counter <= passkey.counter && !(counter === 0 && passkey.counter === 0)) {
    const entry = personAudit(deps, 'factor.passkey_suspended', user, {
      actor: { kind: 'service' },
      detail: { passkey: passkey.id, stored_counter: passkey.counter, counter },
    })
    await deps.users.suspendPasskey(user.id, passkey.credential_id, at, entry)
    throw new CeremonyError('the counter went backwards')
  }
  const use = { userId: user.id, credentialId: passkey.credential_id, counter, synced, at }
  if (!(await deps.users.usePasskey(use))) throw new CeremonyError('another use was ahead')
}

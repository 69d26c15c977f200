import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import type { Passkey } from '../../domain/user.ts'
import { CeremonyError } from './ceremony.ts'
import { checkRegistration } from './check-registration.ts'
import type { PeopleDeps } from './people-deps.ts'

type RegisterDeps = Pick<PeopleDeps, 'users' | 'party' | 'clock' | 'random' | 'log'>

/**
 * Verifies a registration whose challenge was taken, and describes the new passkey; storing it is the caller's write.
 * @throws Refusal `passkey_refused`; `passkey_exists` when anybody has this credential already (WebAuthn L3 §7.1 step 26)
 */
export async function registerPasskey(
  deps: RegisterDeps,
  input: { name: string; response: RegistrationResponseJSON; expectedChallenge: Uint8Array },
): Promise<Passkey> {
  const checked = await checkRegistration(deps.party, input).catch((error: unknown) => {
    if (!(error instanceof CeremonyError)) throw error
    deps.log.info({ reason: error.message }, 'registration refused')
    throw refusal('passkey_refused')
  })
  if ((await deps.users.findByCredential(checked.credential_id)) !== undefined)
    throw refusal('passkey_exists')
  return {
    id: drawId(deps, 'pky'),
    name: input.name,
    ...checked,
    created_at: deps.clock.now(),
    last_used_at: null,
  }
}

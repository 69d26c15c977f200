import type { Authenticators } from '../../domain/authenticator.ts'
import type { Bootstrap } from '../../domain/bootstrap.ts'
import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import type { ConsentReview } from '../../domain/views.ts'
import type { FlowDeps } from '../deps.ts'
import { ownRule } from '../people/accounts.ts'
import { settleBootstrap } from './settle-bootstrap.ts'

/** @throws Refusal `not_found` for anyone but the owner, as for unknown ids */
export async function reviewConsent(deps: FlowDeps, person: User, id: string): Promise<ConsentReview> {
  const bootstrap = await readOwnBootstrap(deps, person, id)
  const methods = consentMethods(person, await ownRule(deps, person))
  return { bootstrap, methods, serverTime: deps.clock.now() }
}

/** Reads a bootstrap, brought up to date, for the owner of the account it asks for. @throws Refusal `not_found` */
export async function readOwnBootstrap(deps: FlowDeps, person: User, id: string): Promise<Bootstrap> {
  const found = await findOwnBootstrap(deps, person, id)
  if (found === undefined) throw refusal('not_found')
  return found
}

/** As `readOwnBootstrap`, without a refusal. @returns undefined for anyone but the owner, as for unknown ids */
export async function findOwnBootstrap(
  deps: FlowDeps,
  person: User,
  id: string,
): Promise<Bootstrap | undefined> {
  const found = isId('bst', id) ? await deps.bootstraps.find(id) : undefined
  return found?.account_id === person.account_id ? settleBootstrap(deps, found) : undefined
}

/** Returns how this person can confirm, given the account's rule for passkeys; where there is one, codes do not count. */
export function consentMethods(person: User, rule: Authenticators | undefined): ('passkey' | 'totp')[] {
  const { has_passkey, has_totp } = factorsOf(person, rule)
  const codesDo = has_totp && rule === undefined
  return [...(has_passkey ? (['passkey'] as const) : []), ...(codesDo ? (['totp'] as const) : [])]
}

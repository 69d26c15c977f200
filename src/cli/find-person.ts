import { normaliseEmail, type User } from '../domain/user.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { CliError, usageError } from './cli-error.ts'

/** The person with this address. @throws CliError */
export async function findPerson(deps: Pick<FlowDeps, 'users'>, address: string): Promise<User> {
  const email = checkEmail(address)
  const user = await deps.users.findByEmail(email)
  if (user === undefined)
    throw new CliError(
      'user_not_found',
      `Nobody has the address ${email}; make an account with: countersign user invite ${email}`,
    )
  return user
}

/** The address in its one spelling. @throws CliError */
export function checkEmail(address: string): string {
  const email = normaliseEmail(address)
  if (email === undefined) throw usageError(`${JSON.stringify(address)} is not an e-mail address.`)
  return email
}

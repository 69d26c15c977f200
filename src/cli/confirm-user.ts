import { Refusal } from '../domain/errors.ts'
import { vouchFor } from '../flow/people/vouch-for.ts'
import { CliError } from './cli-error.ts'
import { checkEmail } from './find-person.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

/** `countersign user confirm`: the operator vouches for the address of somebody whom an owner invited. */
export function runConfirmUser(address: string, options: { json?: boolean }): Promise<CommandResult> {
  const email = checkEmail(address)
  return withService(options.json, async (deps) => {
    const user = await vouchFor(deps, email, { kind: 'cli' }).catch((error: unknown) => {
      if (error instanceof Refusal && error.code === 'not_found')
        throw new CliError('user_not_found', `Nobody has the address ${email}.`)
      throw error
    })
    return {
      value: { user_id: user.id, email: user.email, confirmed: true },
      text: `${user.email} (${user.id}) is confirmed: the internal token and agents reach them by this address.`,
    }
  })
}

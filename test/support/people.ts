import type { User } from '../../src/domain/user.ts'
import { createApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import { newPerson, personAudit } from '../../src/flow/people/person.ts'
import type { TestService } from './service.ts'

/** A person with an account, as an invitation makes them, but without a factor. */
export async function addPerson(service: TestService, email: string): Promise<User> {
  const { deps } = service.composition
  const { user, account } = newPerson(deps, { email, name: email.slice(0, email.indexOf('@')) })
  const invited = { ...user, audit: [personAudit(deps, 'user.invited', user, { actor: { kind: 'cli' } })] }
  await deps.accounts.insert(account)
  await deps.users.insert(invited)
  return invited
}

/** A key of that person's account, as the command line makes it. */
export async function addKey(
  service: TestService,
  user: User,
  options: {
    sandbox?: boolean
    scopes?: ('approval:create' | 'approval:read' | 'approval:verify')[]
    name?: string
  } = {},
): Promise<{ raw_key: string; id: string }> {
  const { name = 'test key', sandbox = false, scopes } = options
  const input = { accountId: user.account_id, name, sandbox, ...(scopes && { scopes }) }
  const { raw_key, key } = await createApiKey(service.composition.deps, input, { kind: 'cli' })
  return { raw_key, id: key.id }
}

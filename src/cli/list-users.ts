import { factorsOf, type User } from '../domain/user.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { table } from './table.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

/** Somebody, with what they are in which account. */
interface Person {
  user: User
  accounts: { id: string; role: string; state: 'active' | 'invited' }[]
}

/** `countersign user list`: everybody, oldest first. */
export function runListUsers(options: { json?: boolean }): Promise<CommandResult> {
  return withService(options.json, async (deps) => {
    const people: Person[] = []
    for (const user of await deps.users.list()) people.push({ user, accounts: await rolesOf(deps, user) })
    return {
      value: { data: people.map(presentPerson), next_cursor: null },
      text:
        people.length === 0 ? 'Nobody yet. Invite somebody: countersign user invite <email>' : rows(people),
    }
  })
}

/** The account of their own first. */
async function rolesOf(deps: Pick<FlowDeps, 'accounts'>, user: User): Promise<Person['accounts']> {
  const found = await deps.accounts.ofPerson(user.id)
  const joined = found.flatMap(({ id, members }) =>
    members.filter(({ user_id }) => user_id === user.id).map(({ role, state }) => ({ id, role, state })),
  )
  return [{ id: user.account_id, role: 'owner', state: 'active' }, ...joined]
}

/** What the operator may see: never hashes, seeds or keys. */
function presentPerson({ user, accounts }: Person) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    account_id: user.account_id,
    approver: user.approver,
    ...factorsOf(user),
    created_at: user.created_at.toISOString(),
    enrolled_at: user.enrolled_at?.toISOString() ?? null,
    accounts,
  }
}

function rows(people: Person[]): string {
  const cells = people.map(({ user, accounts }) => [
    user.email,
    user.name,
    factors(user),
    user.id,
    accounts
      .map(({ id, role, state }) => `${id} ${role}${state === 'invited' ? ' (invited)' : ''}`)
      .join(', '),
  ])
  return table(['E-MAIL', 'NAME', 'FACTORS', 'USER', 'ACCOUNTS'], cells)
}

function factors(user: User): string {
  const { has_passkey, has_totp } = factorsOf(user)
  const held = [has_passkey ? 'passkey' : '', has_totp ? 'totp' : ''].filter((name) => name !== '')
  return held.length > 0 ? held.join(', ') : 'none yet'
}

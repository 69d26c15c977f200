import { factorsOf, type User } from '../domain/user.ts'
import { table } from './table.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

/** `countersign user list`: everybody, oldest first. */
export function runListUsers(options: { json?: boolean }): Promise<CommandResult> {
  return withService(options.json, async (deps) => {
    const users = await deps.users.list()
    return {
      value: { data: users.map(presentPerson), next_cursor: null },
      text: users.length === 0 ? 'Nobody yet. Invite somebody: countersign user invite <email>' : rows(users),
    }
  })
}

/** What the operator may see: never hashes, seeds or keys. */
function presentPerson(user: User) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    account_id: user.account_id,
    approver: user.approver,
    ...factorsOf(user),
    created_at: user.created_at.toISOString(),
    enrolled_at: user.enrolled_at?.toISOString() ?? null,
  }
}

function rows(users: User[]): string {
  const cells = users.map((user) => [user.email, user.name, factors(user), user.id, user.account_id])
  return table(['E-MAIL', 'NAME', 'FACTORS', 'USER', 'ACCOUNT'], cells)
}

function factors(user: User): string {
  const { has_passkey, has_totp } = factorsOf(user)
  const held = [has_passkey ? 'passkey' : '', has_totp ? 'totp' : ''].filter((name) => name !== '')
  return held.length > 0 ? held.join(', ') : 'none yet'
}

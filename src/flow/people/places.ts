import type { Account, Member } from '../../domain/account.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { type Access, openTo } from './account-access.ts'

/** Where a person is something, and where they are asked to be. */
export interface Places {
  accounts: Access[]
  /** The latest first. */
  invitations: { account: Account; member: Member }[]
}

/** Invitations shown at once: anybody may invite anybody. */
const MOST_INVITATIONS = 50

/** Both by one look at the store. */
export async function placesOf(deps: Pick<FlowDeps, 'accounts'>, person: User): Promise<Places> {
  const found = await deps.accounts.ofPerson(person.id)
  const invitations = found
    .flatMap((account) =>
      account.members
        .filter(({ user_id, state }) => user_id === person.id && state === 'invited')
        .map((member) => ({ account, member })),
    )
    .sort((a, b) => b.member.invited_at.getTime() - a.member.invited_at.getTime())
  return { accounts: openTo(person, found), invitations: invitations.slice(0, MOST_INVITATIONS) }
}

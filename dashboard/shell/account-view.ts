import type { User } from '../../webauthn-page/kit/api/contract.ts'
import { flag, list, moment, object, oneOf, optional, text } from '../../webauthn-page/kit/api/shape.ts'

const role = oneOf('owner', 'approver', 'auditor')

/** What a person may do in an account. */
export type Role = ReturnType<typeof role>

const accountViewShape = object({ id: text, name: text, role, own: flag })

/** An account that the person may look at. */
export type AccountView = ReturnType<typeof accountViewShape>

const invitationShape = object({ account_id: text, account_name: text, role, invited_at: moment })

/** An account whose owner asked this person to join. */
export type AccountInvitation = ReturnType<typeof invitationShape>

/** Part of the answer of `GET /session`. */
export const accountsShape = object({
  accounts: optional(list(accountViewShape)),
  invitations: optional(list(invitationShape)),
})

/** The accounts of a session, the one to open first at the front; a service that names none knows only the own one. */
export function accountsOf(
  user: User,
  named: readonly AccountView[] | undefined,
): [AccountView, ...AccountView[]] {
  const [first, ...others] = named ?? []
  if (first !== undefined) return [first, ...others]
  return [{ id: user.account_id, name: user.name, role: 'owner', own: true }]
}

/** Roles an owner can give, and what they are for. */
export const ROLES = [
  ['approver', 'Approver', 'Decides requests that name them, and sees those.'],
  [
    'auditor',
    'Auditor',
    'Sees every request and the audit log. New requests do not name them, and they change nothing.',
  ],
] as const

type MemberRole = (typeof ROLES)[number][0]

/** What a role is called. */
export function roleName(role: 'owner' | MemberRole): string {
  return ROLES.find(([value]) => value === role)?.[1] ?? 'Owner'
}

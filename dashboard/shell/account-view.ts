import type { User } from '../../webauthn-page/kit/api/contract.ts'
import { flag, list, moment, object, oneOf, optional, text } from '../../webauthn-page/kit/api/shape.ts'

const role = oneOf('owner', 'approver', 'auditor')

/** What a person may do in an account. */
export type Role = ReturnType<typeof role>

const accountViewShape = object({ id: text, name: text, role, own: flag })

/** An account somebody may look at. */
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

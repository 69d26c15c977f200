import type { currentSessionAnswer } from '../../src/http/api/session.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import type { User } from '../../webauthn-page/kit/api/contract.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

export type CurrentSession = Answer<typeof currentSessionAnswer>

/** `GET /session`. */
export const currentSessionShape = answer<CurrentSession>()

/** An account that the person may look at; `none` is the role of a person who is in no account. */
export type AccountView = Omit<CurrentSession['accounts'][number], 'role'> & { role: Role }

/** Checks whether the person owns the account and may change it. */
export function isOwned({ own, role }: AccountView): boolean {
  return own && role === 'owner'
}

/** The role of a person in an account, which sets what they may do. */
export type Role = CurrentSession['accounts'][number]['role'] | 'none'

/** An account whose owner asked this person to join. */
export type AccountInvitation = CurrentSession['invitations'][number]

/** An owner's offer to set up this person's sign-in anew. */
export type Recovery = NonNullable<CurrentSession['recovery']>

/** The accounts of a session, in the order of the service: the first opens first. If it names none, one that stands for that. */
export function accountsOf(
  user: User,
  [first, ...others]: readonly AccountView[],
): [AccountView, ...AccountView[]] {
  if (first !== undefined) return [first, ...others]
  return [{ id: '', name: user.name, role: 'none', own: true }]
}

/** The roles that an owner can give, each with its name and meaning. */
export const ROLES = [
  ['approver', 'Approver', 'Decides requests that name them, and sees those.'],
  [
    'auditor',
    'Auditor',
    'Sees every request and the audit log. New requests do not name them, and they change nothing.',
  ],
] as const

/** The name of a role for people. */
export function roleName(role: Role): string {
  return ROLES.find(([value]) => value === role)?.[1] ?? 'Owner'
}

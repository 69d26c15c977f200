/** Roles an owner can give, and what they are for. */
export const ROLES = [
  ['approver', 'Approver', 'Decides requests that name them, and sees those.'],
  [
    'auditor',
    'Auditor',
    'Sees every request and the audit log. New requests do not name them, and they change nothing.',
  ],
] as const

export type MemberRole = (typeof ROLES)[number][0]

/** What somebody is called. */
export function roleName(role: 'owner' | MemberRole): string {
  return ROLES.find(([value]) => value === role)?.[1] ?? 'Owner'
}

import { factorsOf, type User } from '../domain/user.ts'
import type { EnrollmentLink } from '../flow/people/enrollment-link.ts'
import type { Colleague } from '../flow/people/manage-members.ts'
import type { Places } from '../flow/people/places.ts'
import type { PolicyView } from '../flow/people/read-policy.ts'

/**
 * Somebody in an account, as its owner sees them. Of whoever has not accepted only what the owner said themself: anything
 * else would tell whether the person was known here before, and which receipts are theirs.
 */
export function presentMember({ user, member }: Colleague) {
  const head = { user_id: user.id, email: user.email }
  if (member === undefined) {
    const times = { invited_at: null, joined_at: null }
    return { ...head, ...presentSelf(user), role: 'owner', state: 'active', ...times }
  }
  const unknown = { name: member.name ?? user.email, approver: null, has_passkey: false, has_totp: false }
  return {
    ...head,
    ...(member.state === 'active' ? presentSelf(user) : unknown),
    role: member.role,
    state: member.state,
    invited_at: member.invited_at.toISOString(),
    joined_at: member.joined_at?.toISOString() ?? null,
  }
}

function presentSelf(user: User) {
  return { name: user.name, approver: user.approver, ...factorsOf(user) }
}

/** A one-time link, shown this once. */
export function presentLink(link: EnrollmentLink) {
  return { url: link.url, expires_at: link.expires_at.toISOString() }
}

/** The policy of an account, with the people it names; of who has left nothing that they changed since. */
export function presentPolicy({ policy, approvers, reachable }: PolicyView) {
  return {
    approvers: approvers.map(({ user, eligible, inside }) => ({
      user_id: user.id,
      email: user.email,
      ...presentSelf(user),
      ...(eligible ? {} : { has_passkey: false, has_totp: false }),
      ...(inside ? {} : { name: user.email }),
      eligible,
    })),
    quorum: policy.quorum,
    passkey_only: policy.passkey_only,
    high_impact: policy.high_impact,
    reminders: policy.reminders,
    reachable,
  }
}

/** Where the signed-in person may look, and what they are asked to join. */
export function presentPlaces({ accounts, invitations }: Places, userId: string) {
  return {
    accounts: accounts.map(({ account, role }) => ({
      id: account.id,
      name: account.name,
      role,
      own: account.owner_id === userId,
    })),
    invitations: invitations.map(({ account, member }) => ({
      account_id: account.id,
      account_name: account.name,
      role: member.role,
      invited_at: member.invited_at.toISOString(),
    })),
  }
}

/** Somebody who could stand in for the person. */
export function presentCandidate(user: User) {
  return { user_id: user.id, email: user.email, name: user.name }
}

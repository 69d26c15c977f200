import { z } from 'zod'
import { MEMBER_ROLES } from '../../domain/account.ts'
import { factorsOf, type User, usablePasskeys } from '../../domain/user.ts'
import type { Colleague } from '../../domain/views.ts'
import { authenticatorFields, type Models, presentAuthenticator } from './factors.ts'
import {
  type Answer,
  approverField,
  idField,
  okAnswer,
  pageOf,
  presentTimes,
  recoveryTimes,
  roleField,
  timeField,
} from './shared/fields.ts'
import { givenName, text } from './shared/input.ts'
import { idInPath, operations, PROOF_REFUSALS } from './shared/operation.ts'
import { proofOnly, proofSchema } from './shared/proofs.ts'

const role = z.enum(MEMBER_ROLES, { error: `must be one of ${MEMBER_ROLES.join(', ')}` })

export const newMemberBody = z
  .object({
    email: text.max(320, 'is too long'),
    name: givenName.optional().meta({
      description: 'The name of the member until they accept; if omitted, the part before the @.',
    }),
    role,
    proof: proofSchema,
  })
  .meta({ id: 'NewMember' })

export const memberRoleBody = z.object({ role, proof: proofSchema }).meta({ id: 'MemberRole' })

export const acceptanceBody = z
  .object({
    token: text
      .max(128, 'is too long')
      .meta({ description: 'The part after the # of the link that the owner handed over.' }),
  })
  .meta({ id: 'Acceptance' })

export const person = {
  user_id: idField('usr'),
  email: z.string().meta({ example: 'alice@example.com' }),
  name: z.string(),
}

export const factors = { has_passkey: z.boolean(), has_totp: z.boolean() }

const memberAnswer = z
  .strictObject({
    ...person,
    approver: approverField.nullable(),
    role: roleField,
    state: z.enum(['active', 'invited']),
    ...factors,
    passkeys: z
      .array(z.strictObject(authenticatorFields))
      .optional()
      .meta({ description: 'The models that count; absent for a person who is only invited.' }),
    invited_at: timeField.nullable(),
    joined_at: timeField.nullable(),
    recovery: z
      .strictObject({ ...recoveryTimes, refused: z.boolean() })
      .optional()
      .meta({
        description:
          'The person may set up their sign-in anew. `refused`: they said no, and cannot be offered it again until `expires_at`.',
      }),
  })
  .meta({
    id: 'Member',
    description:
      'While the person is only invited, `name` is the one that the owner entered, `approver` is null and the factors are false, even if the person is enrolled already.',
  })

export const membersAnswer = pageOf(memberAnswer).meta({ id: 'Members' })

const link = z
  .strictObject({ url: z.string().meta({ description: 'Shown this once.' }), expires_at: timeField })
  .meta({ id: 'MemberLink' })

export const invitedAnswer = z.strictObject({ member: memberAnswer, link }).meta({ id: 'InvitedMember' })

export const linkAnswer = z.strictObject({ link }).meta({ id: 'NewMemberLink' })

export const recoveryAnswer = z
  .strictObject({ link: link.extend({ opens_at: recoveryTimes.opens_at }) })
  .meta({ id: 'MemberRecovery' })

export const changedMemberAnswer = z.strictObject({ member: memberAnswer }).meta({ id: 'ChangedMember' })

/**
 * Presents a person of an account to its owner; without `member` the person is the owner. Of a person who has not accepted, it
 * shows only what the owner entered: more would reveal whether the service knew them before, and which receipts are theirs.
 */
export function presentMember(
  { user, member, recovery }: Colleague,
  models: Models,
): Answer<typeof memberAnswer> {
  const head = { user_id: user.id, email: user.email }
  const self = {
    ...presentSelf(user),
    passkeys: usablePasskeys(user).map((one) => presentAuthenticator(one, models)),
  }
  if (member === undefined) {
    const times = { invited_at: null, joined_at: null }
    return { ...head, ...self, role: 'owner', state: 'active', ...times }
  }
  const unknown = { name: member.name ?? user.email, approver: null, has_passkey: false, has_totp: false }
  return {
    ...head,
    ...(member.state === 'active' ? self : unknown),
    role: member.role,
    state: member.state,
    invited_at: member.invited_at.toISOString(),
    joined_at: member.joined_at?.toISOString() ?? null,
    ...(recovery === undefined
      ? {}
      : { recovery: { ...presentTimes(recovery), refused: recovery.refused_at !== undefined } }),
  }
}

export function presentSelf(user: User) {
  const { has_passkey, has_totp } = factorsOf(user)
  return { name: user.name, approver: user.approver, has_passkey, has_totp }
}

/** Presents a one-time link, which is shown only in this answer. */
export function presentLink({ url, expires_at }: { url: string; expires_at: Date }): Answer<typeof link> {
  return { url, expires_at: expires_at.toISOString() }
}

const member = { path: idInPath('usr', 'User id of the member.') }

const account = { path: idInPath('acc', 'Account id.') }

export const memberOperations = operations('Members and policy', {
  'get /api/v1/account/members': {
    id: 'listMembers',
    summary: 'List the members of my account',
    description: 'The owner first, including invited people.',
    answers: { '200': { schema: membersAnswer, description: 'All of them.' } },
  },
  'post /api/v1/account/members': {
    id: 'inviteMember',
    summary: 'Invite a person to my account',
    description:
      'Step-up `member.invite`, target: the e-mail address as sent. A person without an account on this service is created and enrols by the link, which accepts the invitation; a person with one signs in, and accepts with the token of the link. The answer is the same for both. An account has at most 50 members.',
    body: { schema: newMemberBody },
    answers: { '201': { schema: invitedAnswer, description: 'Invited; the link is shown only once.' } },
    refusals: [...PROOF_REFUSALS, 'member_exists', 'member_limit'],
  },
  'patch /api/v1/account/members/{id}': {
    id: 'changeMember',
    summary: 'Change the role of a member',
    description: 'Step-up `member.change`, target: the user id. Takes effect at once.',
    parameters: member,
    body: { schema: memberRoleBody },
    answers: { '200': { schema: changedMemberAnswer, description: 'As it is now.' } },
    refusals: [...PROOF_REFUSALS, 'not_found'],
  },
  'post /api/v1/account/members/{id}/link': {
    id: 'renewMemberLink',
    summary: 'Make a new link for an invited person',
    description: 'Step-up `member.invite`, target: the user id. The earlier link ends.',
    parameters: member,
    body: proofOnly,
    answers: { '201': { schema: linkAnswer, description: 'The link, shown only once.' } },
    refusals: [...PROOF_REFUSALS, 'not_found'],
  },
  'post /api/v1/account/members/{id}/remove': {
    id: 'removeMember',
    summary: 'Remove a member, or withdraw an invitation',
    description:
      'Step-up `member.change`, target: the user id. Pending requests that name the person stay as they are, and the person can still decide them; new ones do not name them.',
    parameters: member,
    body: proofOnly,
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: [...PROOF_REFUSALS, 'not_found'],
  },
})

export const recoveryOperations = operations('Members and policy', {
  'post /api/v1/account/members/{id}/recovery': {
    id: 'offerRecovery',
    summary: 'Let a member who lost a device set up their sign-in anew',
    description:
      'Step-up `member.recover`, target: the user id. The person is told by every channel at once and can refuse; the link works 24 hours later, for 7 days from now on, and ends all their earlier factors. Called again meanwhile, it gives another link with the same times. Only for people whom this account invited, whom the operator has not confirmed, and who have no role, key, webhook, chat or pending request outside of it.',
    parameters: member,
    body: proofOnly,
    answers: { '201': { schema: recoveryAnswer, description: 'The link, shown only once.' } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'recovery_refused', 'recovery_declined'],
  },
  'post /api/v1/account/members/{id}/recovery/cancel': {
    id: 'withdrawRecovery',
    summary: 'Cancel the new set-up of a member',
    parameters: member,
    answers: { '200': { schema: okAnswer, description: 'The link no longer works.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/me/recovery/refuse': {
    id: 'refuseRecovery',
    summary: 'Refuse a new set-up of my sign-in',
    description: 'Needs no proof. The owner cannot offer it again for 7 days from their offer on.',
    answers: { '200': { schema: okAnswer, description: 'The link no longer works.' } },
    refusals: ['not_found'],
  },
})

export const membershipOperations = operations('Members and policy', {
  'post /api/v1/me/invitations/{id}/accept': {
    id: 'acceptInvitation',
    summary: 'Join an account that invited me',
    description:
      'With the token of the link that this account’s owner handed over. A person who enrols by such a link accepts by doing so.',
    parameters: account,
    body: { schema: acceptanceBody },
    answers: { '200': { schema: okAnswer, description: 'A member now.' } },
    refusals: ['not_found', 'enrollment_invalid'],
  },
  'post /api/v1/me/invitations/{id}/decline': {
    id: 'declineInvitation',
    summary: 'Decline an invitation',
    parameters: account,
    answers: { '200': { schema: okAnswer, description: 'Declined.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/me/memberships/{id}/leave': {
    id: 'leaveAccount',
    summary: 'Leave an account',
    parameters: account,
    answers: { '200': { schema: okAnswer, description: 'No member any more.' } },
    refusals: ['not_found'],
  },
})

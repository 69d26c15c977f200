import { okAnswer } from '../api/shared/fields.ts'
import { idInPath, operations, PROOF_REFUSALS, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { acceptanceBody, memberRoleBody, newMemberBody } from '../schemas/members.ts'
import { proofBody } from '../schemas/people.ts'
import { policyBody } from '../schemas/policy.ts'
import {
  changedMemberAnswer,
  invitedAnswer,
  linkAnswer,
  membersAnswer,
  policyAnswer,
} from '../schemas/responses/members.ts'

const badProof = ['proof', 'must hold exactly one of passkey and totp'] as const
const proof = { schema: proofBody, invalid: badProof, optional: true } as const
const badRole = ['role', 'must be one of approver, auditor'] as const
const member = { path: idInPath('usr', 'User id of the member.') }
const account = { path: idInPath('acc', 'Account id.') }

export const memberOperations = operations('Members and policy', {
  'get /api/v1/account/members': {
    id: 'listMembers',
    summary: 'List the members of my account',
    description: 'The owner first, invited people too.',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: membersAnswer, description: 'All of them.' } },
  },
  'post /api/v1/account/members': {
    id: 'inviteMember',
    summary: 'Invite somebody into my account',
    description:
      'Step-up `member.invite`, target: the e-mail address as sent. Whoever has no account on this service yet is made and enrols by the link, which accepts the invitation; anybody else signs in, and accepts with the token of the link. The answer is the same for both. An account has at most 50 members.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: newMemberBody, required: 'email', invalid: badRole },
    answers: { '201': { schema: invitedAnswer, description: 'Invited; the link is shown this once.' } },
    refusals: [...PROOF_REFUSALS, 'member_exists', 'member_limit'],
  },
  'patch /api/v1/account/members/{id}': {
    id: 'changeMember',
    summary: 'Change the role of a member',
    description: 'Step-up `member.change`, target: the user id. At once.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: member,
    body: { schema: memberRoleBody, required: 'role', invalid: badRole },
    answers: { '200': { schema: changedMemberAnswer, description: 'As it is now.' } },
    refusals: [...PROOF_REFUSALS, 'not_found'],
  },
  'post /api/v1/account/members/{id}/link': {
    id: 'renewMemberLink',
    summary: 'Make a new link for somebody invited',
    description: 'Step-up `member.invite`, target: the user id. The link before ends.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: member,
    body: proof,
    answers: { '201': { schema: linkAnswer, description: 'The link, shown this once.' } },
    refusals: [...PROOF_REFUSALS, 'not_found'],
  },
  'post /api/v1/account/members/{id}/remove': {
    id: 'removeMember',
    summary: 'Remove a member, or take an invitation back',
    description:
      'Step-up `member.change`, target: the user id. Open requests that name the person stand, and the person still decides on those; new ones do not name them.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: member,
    body: proof,
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: [...PROOF_REFUSALS, 'not_found'],
  },
  'get /api/v1/account/policy': {
    id: 'getPolicy',
    summary: 'Who decides in my account',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: policyAnswer, description: 'The policy of new requests.' } },
  },
  'put /api/v1/account/policy': {
    id: 'setPolicy',
    summary: 'Set who decides in my account',
    description:
      'Step-up `policy.change`. Approvers are the owner and members who are approvers; each request keeps the policy it was made under. With `passkey_only` as many of them as the quorum need a passkey.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: {
      schema: policyBody,
      required: 'approvers',
      invalid: ['approvers', 'must be the owner or members who are approvers'],
    },
    answers: { '200': { schema: policyAnswer, description: 'As it is now.' } },
    refusals: [...PROOF_REFUSALS, 'no_eligible_approver'],
  },
  'post /api/v1/me/invitations/{id}/accept': {
    id: 'acceptInvitation',
    summary: 'Join an account that invited me',
    description:
      'With the token of the link that this account’s owner handed over. Whoever is enrolled by such a link has accepted by that.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: account,
    body: { schema: acceptanceBody, required: 'token', invalid: ['token', 'is too long'] },
    answers: { '200': { schema: okAnswer, description: 'A member now.' } },
    refusals: ['not_found', 'enrollment_invalid'],
  },
  'post /api/v1/me/invitations/{id}/decline': {
    id: 'declineInvitation',
    summary: 'Decline an invitation',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: account,
    answers: { '200': { schema: okAnswer, description: 'Declined.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/me/memberships/{id}/leave': {
    id: 'leaveAccount',
    summary: 'Leave an account',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: account,
    answers: { '200': { schema: okAnswer, description: 'No member any more.' } },
    refusals: ['not_found'],
  },
})

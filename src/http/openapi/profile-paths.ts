import { operations, PROOF_REFUSALS, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { delegateBody, profileBody } from '../schemas/profile.ts'
import { candidatesAnswer, profileAnswer } from '../schemas/responses/members.ts'

export const profileOperations = operations('Own profile', {
  'patch /api/v1/me': {
    id: 'changeProfile',
    summary: 'Change my name or default time',
    description: 'What is left out stays.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: profileBody, invalid: ['default_ttl_seconds', 'must be at least 60'], optional: true },
    answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
  },
  'put /api/v1/me/delegate': {
    id: 'setDelegate',
    summary: 'Have somebody decide for me for a while',
    description:
      'Step-up `delegate.change`, target: the user id. Their vote, made with their own factor, then counts for the person, in accounts where they decide themselves; nobody acts twice on one request. At most 366 days.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: {
      schema: delegateBody,
      required: 'user_id',
      invalid: ['ends_at', 'must be later than starts_at'],
    },
    answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
    refusals: PROOF_REFUSALS,
  },
  'get /api/v1/me/delegate/candidates': {
    id: 'listDelegateCandidates',
    summary: 'Who could decide for me',
    description: 'Everybody who decides in an account where the person decides.',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: candidatesAnswer, description: 'All of them.' } },
  },
  'post /api/v1/me/delegate/remove': {
    id: 'removeDelegate',
    summary: 'Have nobody decide for me any more',
    description: 'At once; without a proof, and also when there was nobody.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
  },
})

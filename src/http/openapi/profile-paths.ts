import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { delegateBody, profileBody } from '../schemas/profile.ts'
import { candidatesAnswer, profileAnswer } from '../schemas/responses/members.ts'
import { PROOF_REFUSALS } from './factor-paths.ts'
import { operation } from './operation.ts'

const tag = 'Own profile'
const person = { by: 'session', changes: true } as const

const change = operation({
  id: 'changeProfile',
  tag,
  summary: 'Change my name or default time',
  description: 'What is left out stays.',
  access: person,
  limited: true,
  body: { schema: profileBody, invalid: ['default_ttl_seconds', 'must be at least 60'], optional: true },
  answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
})

const candidates = operation({
  id: 'listDelegateCandidates',
  tag,
  summary: 'Who could decide for me',
  description: 'Everybody who decides in an account where the person decides.',
  access: { by: 'session', changes: false },
  limited: true,
  answers: { '200': { schema: candidatesAnswer, description: 'All of them.' } },
})

const setDelegate = operation({
  id: 'setDelegate',
  tag,
  summary: 'Have somebody decide for me for a while',
  description:
    'Step-up `delegate.change`, target: the user id. Their vote, made with their own factor, then counts for the person, in accounts where they decide themselves; nobody acts twice on one request. At most 366 days.',
  access: person,
  limited: true,
  body: {
    schema: delegateBody,
    required: 'user_id',
    invalid: ['ends_at', 'must be later than starts_at'],
  },
  answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
  refusals: PROOF_REFUSALS,
})

const removeDelegate = operation({
  id: 'removeDelegate',
  tag,
  summary: 'Have nobody decide for me any more',
  description: 'At once; without a proof, and also when there was nobody.',
  access: person,
  limited: true,
  answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
})

export const profilePaths: ZodOpenApiPathsObject = {
  '/api/v1/me': { patch: change },
  '/api/v1/me/delegate': { put: setDelegate },
  '/api/v1/me/delegate/candidates': { get: candidates },
  '/api/v1/me/delegate/remove': { post: removeDelegate },
}

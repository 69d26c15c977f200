import { z } from 'zod'
import type { User } from '../../domain/user.ts'
import type { NextSteps } from '../../domain/views.ts'
import { accountQuery } from './account.ts'
import { person } from './members.ts'
import { userAnswer } from './session.ts'
import { type Answer, pageOf, present } from './shared/fields.ts'
import { flag, givenName, idText, ttlSeconds } from './shared/input.ts'
import { operations, PROOF_REFUSALS } from './shared/operation.ts'
import { proofSchema } from './shared/proofs.ts'

export const profileBody = z
  .object({
    name: givenName.optional(),
    default_ttl_seconds: ttlSeconds
      .optional()
      .meta({ description: 'Seconds until a request expires if the caller gives none.' }),
    next_steps_hidden: flag
      .optional()
      .meta({ description: 'True hides the list of what is left to set up.' }),
  })
  .meta({ id: 'ChangeProfile' })

const time = z
  .string({ error: 'must be a time' })
  .max(40, 'is too long')
  .pipe(z.iso.datetime({ offset: true, error: 'must be a time such as 2026-03-04T09:30:00Z' }))
  .transform((text) => new Date(text))

export const delegateBody = z
  .object({
    user_id: idText('usr', 'must be a user id'),
    starts_at: time,
    ends_at: time,
    proof: proofSchema,
  })
  .meta({ id: 'SetDelegate' })

const candidate = z.strictObject(person)

export const candidatesAnswer = pageOf(candidate).meta({ id: 'DelegateCandidates' })

export const profileAnswer = z.strictObject({ user: userAnswer }).meta({ id: 'Profile' })

const ownersSteps = z.strictObject({
  first_decision: z.boolean().meta({ description: 'A request of the account was decided.' }),
  member: z.boolean().meta({ description: 'The policy names an approver who joined.' }),
  member_unnamed: z.boolean().meta({ description: 'An approver joined whom the policy does not name.' }),
  policy: z.boolean().meta({ description: 'It has rules of its own.' }),
  chat_or_mail: z.boolean().meta({ description: 'A channel, chat account or address is told.' }),
  approval_used: z.boolean().meta({ description: 'One of the latest 20 approvals was used by its caller.' }),
})

export const nextStepsAnswer = z
  .strictObject({
    hidden: z.boolean(),
    second_passkey: z.boolean(),
    told: z.boolean().meta({ description: 'A browser, address or chat account of the person is told.' }),
    owner: ownersSteps.optional().meta({ description: 'For the owner, unless hidden.' }),
  })
  .meta({ id: 'NextSteps' })

/** Presents what is set up: `true`, or left to do: `false`. */
export function presentNextSteps(steps: NextSteps): Answer<typeof nextStepsAnswer> {
  const { owner } = steps
  return present(nextStepsAnswer, steps, { owner: owner && present(ownersSteps, owner, {}) })
}

/** Presents a person who could be a delegate. */
export function presentCandidate(user: User): Answer<typeof candidate> {
  return { user_id: user.id, email: user.email, name: user.name }
}

export const profileOperations = operations('Own profile', {
  'patch /api/v1/me': {
    id: 'changeProfile',
    summary: 'Change my name, default expiry, or what I am shown',
    description: 'Omitted fields stay unchanged.',
    body: { schema: profileBody, optional: true },
    answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
  },
  'put /api/v1/me/delegate': {
    id: 'setDelegate',
    summary: 'Let another person decide for me for a while',
    description:
      'Step-up `delegate.change`, target: the user id. Their vote, made with their own factor, then counts for the person, in accounts where they decide themselves; no one acts twice on one request. At most 366 days.',
    body: {
      schema: delegateBody,
    },
    answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
    refusals: PROOF_REFUSALS,
  },
  'get /api/v1/me/next-steps': {
    id: 'listNextSteps',
    summary: 'See what I have set up, and what is left',
    parameters: { query: accountQuery },
    answers: { '200': { schema: nextStepsAnswer, description: 'As it is now.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/me/delegate/candidates': {
    id: 'listDelegateCandidates',
    summary: 'List the people who could decide for me',
    description: 'All people who decide in an account where the person decides.',
    answers: { '200': { schema: candidatesAnswer, description: 'All of them.' } },
  },
  'post /api/v1/me/delegate/remove': {
    id: 'removeDelegate',
    summary: 'End the delegation of my decisions',
    description: 'Takes effect at once; needs no proof, and succeeds also if there was no delegate.',
    answers: { '200': { schema: profileAnswer, description: 'As it is now.' } },
  },
})

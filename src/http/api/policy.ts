import { z } from 'zod'
import { ENOUGH_REMINDERS } from '../../domain/attention.ts'
import { factorsOf, isVouchedFor } from '../../domain/user.ts'
import type { PolicyView } from '../../domain/views.ts'
import type { Models } from './factors.ts'
import { factors, person, presentSelf } from './members.ts'
import { type Answer, approverField, authenticatorsField, ignoredFields, present } from './shared/fields.ts'
import { flag, idText } from './shared/input.ts'
import { operations, PROOF_REFUSALS } from './shared/operation.ts'
import { proofSchema } from './shared/proofs.ts'

/** The most approvers of a policy: as many as an account may have members. */
const MOST = 50

export const approvers = z
  .array(idText('usr', 'must be a user id'), { error: 'must be a list of user ids' })
  .max(MOST, `must name at most ${MOST}`)

export const quorum = z
  .int({ error: 'must be a whole number' })
  .min(1, 'must be at least 1')
  .max(MOST, `must be at most ${MOST}`)

const reminders = z
  .array(
    z.number({ error: 'must be a number' }).gt(0, 'must be greater than 0').lt(1, 'must be less than 1'),
    { error: 'must be a list of numbers' },
  )
  .max(ENOUGH_REMINDERS, `must be at most ${ENOUGH_REMINDERS}`)
  .refine(
    (list) => list.every((fraction, index) => fraction > (list[index - 1] ?? 0)),
    'must be in ascending order',
  )

export const policyBody = z
  .object({
    approvers: approvers.meta({ description: 'User ids; an empty list means the owner alone.' }),
    quorum,
    passkey_only: flag,
    high_impact: flag,
    confirmed_only: flag.optional().meta({
      description:
        'Only people whom the operator vouched for count, as approvers and as their delegates: not those whom only an owner invited, until `countersign user confirm`. If omitted, it stays unchanged.',
    }),
    authenticators: authenticatorsField.nullish().meta({
      description:
        'null: any passkey. If omitted, it stays unchanged. It must be set with a passkey that it permits, and the service must have metadata of authenticators.',
    }),
    reminders: reminders.optional().meta({
      description: 'When to remind, as fractions of the time until expiry; if omitted, they stay unchanged.',
    }),
    proof: proofSchema,
  })
  .meta({ id: 'SetPolicy' })

export const policyAnswer = z
  .strictObject({
    approvers: z.array(
      z.strictObject({
        ...person,
        approver: approverField,
        ...factors,
        confirmed: z.boolean().meta({ description: 'The operator vouched for the person.' }),
        eligible: z.boolean().meta({
          description:
            'False: neither owner nor approver of the account any more; new requests leave them out.',
        }),
      }),
    ),
    quorum: z.int().min(1),
    passkey_only: z.boolean(),
    high_impact: z.boolean(),
    confirmed_only: z.boolean(),
    authenticators: authenticatorsField.optional(),
    can_attest: z.literal(true).optional().meta({
      description: 'The service has the metadata that `authenticators` needs.',
    }),
    reminders: z.array(z.number()),
    reachable: z.boolean().meta({
      description: 'False: requests made now are refused with `no_eligible_approver`.',
    }),
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'Policy' })

/** Presents a policy with the people it names; of a person who left the account, it shows nothing that they changed since. */
export function presentPolicy(
  { policy, approvers, reachable }: PolicyView,
  models: Models,
): Answer<typeof policyAnswer> {
  return present(policyAnswer, policy, {
    approvers: approvers.map(({ user, eligible, inside }) => ({
      user_id: user.id,
      email: user.email,
      ...presentSelf(user),
      ...(eligible ? factorsOf(user, policy.authenticators) : { has_passkey: false, has_totp: false }),
      ...(inside ? {} : { name: user.email }),
      confirmed: isVouchedFor(user),
      eligible,
    })),
    can_attest: models.known || undefined,
    reminders: policy.reminders,
    reachable,
    ignored_fields: undefined,
  })
}

export const policyOperations = operations('Members and policy', {
  'get /api/v1/account/policy': {
    id: 'getPolicy',
    summary: 'Get the policy of my account',
    answers: { '200': { schema: policyAnswer, description: 'The policy of new requests.' } },
  },
  'put /api/v1/account/policy': {
    id: 'setPolicy',
    summary: 'Set the policy of my account',
    description:
      'Step-up `policy.change`. Approvers are the owner and members who are approvers; each request keeps the policy it was made under. With `passkey_only`, at least as many of them as the quorum must have a passkey.',
    body: {
      schema: policyBody,
    },
    answers: { '200': { schema: policyAnswer, description: 'As it is now.' } },
    refusals: [...PROOF_REFUSALS, 'no_eligible_approver'],
  },
})

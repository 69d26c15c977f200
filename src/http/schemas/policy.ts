import { z } from 'zod'
import { isId } from '../../domain/identifier.ts'
import { proofSchema } from '../api/shared/proofs.ts'

/** As many as an account has members. */
const MOST = 50

const MAX_REMINDERS = 5

const flag = z.boolean({ error: 'must be true or false' })
const only = z.literal(true, { error: 'must be true, or be left out' })

const approvers = z
  .array(
    z.string({ error: 'must be a user id' }).refine((id) => isId('usr', id), 'must be a user id'),
    { error: 'must be a list of user ids' },
  )
  .max(MOST, `must name at most ${MOST}`)

const quorum = z
  .int({ error: 'must be a whole number' })
  .min(1, 'must be at least 1')
  .max(MOST, `must be at most ${MOST}`)

const reminders = z
  .array(
    z.number({ error: 'must be a number' }).gt(0, 'must be greater than 0').lt(1, 'must be less than 1'),
    { error: 'must be a list of numbers' },
  )
  .max(MAX_REMINDERS, `must be at most ${MAX_REMINDERS}`)
  .refine(
    (list) => list.every((fraction, index) => fraction > (list[index - 1] ?? 0)),
    'must be in ascending order',
  )

/** `PUT /api/v1/account/policy`. */
export const policyBody = z
  .object({
    approvers: approvers.meta({ description: 'User ids; an empty list means the owner alone.' }),
    quorum,
    passkey_only: flag,
    high_impact: flag,
    reminders: reminders
      .optional()
      .meta({ description: 'When to remind, as fractions of the time a request has; left out, they stay.' }),
    proof: proofSchema,
  })
  .meta({ id: 'SetPolicy' })

/** What a key adds to the account's policy. */
export const keyPolicyBody = z
  .object(
    {
      approvers: approvers.min(1, 'must name somebody, or be left out').optional(),
      quorum: quorum.optional(),
      passkey_only: only.optional(),
      high_impact: only.optional(),
    },
    { error: 'must be an object or null' },
  )
  .meta({ id: 'NewKeyPolicy', description: 'Narrows the policy of the account; null: that alone holds.' })

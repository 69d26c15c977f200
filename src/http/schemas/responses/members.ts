import { z } from 'zod'
import { approverField, idField, pageOf, roleField, timeField } from '../../api/shared/fields.ts'
import { userAnswer } from './people.ts'

const person = {
  user_id: idField('usr'),
  email: z.string().meta({ example: 'alice@example.com' }),
  name: z.string(),
}
const factors = { has_passkey: z.boolean(), has_totp: z.boolean() }

const memberAnswer = z
  .strictObject({
    ...person,
    approver: approverField.nullable(),
    role: roleField,
    state: z.enum(['active', 'invited']),
    ...factors,
    invited_at: timeField.nullable(),
    joined_at: timeField.nullable(),
  })
  .meta({
    id: 'Member',
    description:
      'While the person is only invited, `name` is what the owner called them, `approver` is null and the factors are false, whoever they are.',
  })

/** `GET /api/v1/account/members`. */
export const membersAnswer = pageOf(memberAnswer).meta({ id: 'Members' })

const link = z
  .strictObject({ url: z.string().meta({ description: 'Shown this once.' }), expires_at: timeField })
  .meta({ id: 'MemberLink' })

/** `POST /api/v1/account/members`. */
export const invitedAnswer = z.strictObject({ member: memberAnswer, link }).meta({ id: 'InvitedMember' })

/** `POST /api/v1/account/members/:id/link`. */
export const linkAnswer = z.strictObject({ link }).meta({ id: 'NewMemberLink' })

/** `PATCH /api/v1/account/members/:id`. */
export const changedMemberAnswer = z.strictObject({ member: memberAnswer }).meta({ id: 'ChangedMember' })

/** `GET /api/v1/account/policy`. */
export const policyAnswer = z
  .strictObject({
    approvers: z.array(
      z.strictObject({
        ...person,
        approver: approverField,
        ...factors,
        eligible: z.boolean().meta({
          description:
            'False: neither owner nor approver of the account any more; new requests leave them out.',
        }),
      }),
    ),
    quorum: z.int().min(1),
    passkey_only: z.boolean(),
    high_impact: z.boolean(),
    reminders: z.array(z.number()),
    reachable: z.boolean().meta({
      description: 'False: requests made now are refused with `no_eligible_approver`.',
    }),
  })
  .meta({ id: 'Policy' })

/** `GET /api/v1/me/delegate/candidates`. */
export const candidatesAnswer = pageOf(z.strictObject(person)).meta({ id: 'DelegateCandidates' })

/** `PATCH /api/v1/me`, `PUT /api/v1/me/delegate`, `POST …/remove`. */
export const profileAnswer = z.strictObject({ user: userAnswer }).meta({ id: 'Profile' })

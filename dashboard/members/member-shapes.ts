import type { invitedAnswer, linkAnswer, membersAnswer, recoveryAnswer } from '../../src/http/api/members.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

export const membersShape = answer<Answer<typeof membersAnswer>>()

/** A person in an account, as its owner sees them. */
export type Member = Answer<typeof membersAnswer>['data'][number]

export const newMemberShape = answer<Answer<typeof invitedAnswer>>()
export const newLinkShape = answer<Answer<typeof linkAnswer>>()
export const recoveryShape = answer<Answer<typeof recoveryAnswer>>()

/** A one-time link by which a member sets up their sign-in anew, and from when on it works. */
export type RecoveryLink = Answer<typeof recoveryAnswer>['link']

/** A one-time link by which a person joins; it is shown only once. */
export type InvitationLink = Answer<typeof linkAnswer>['link']

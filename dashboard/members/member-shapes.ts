import type { invitedAnswer, linkAnswer, membersAnswer } from '../../src/http/api/members.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

export const membersShape = answer<Answer<typeof membersAnswer>>()

/** A person in an account, as its owner sees them. */
export type Member = Answer<typeof membersAnswer>['data'][number]

export const newMemberShape = answer<Answer<typeof invitedAnswer>>()
export const newLinkShape = answer<Answer<typeof linkAnswer>>()

/** A one-time link by which a person joins; it is shown only once. */
export type InvitationLink = Answer<typeof linkAnswer>['link']

import { flag, list, moment, nullable, object, oneOf, text } from '../../webauthn-page/kit/api/shape.ts'

const memberShape = object({
  user_id: text,
  email: text,
  name: text,
  approver: nullable(text),
  role: oneOf('owner', 'approver', 'auditor'),
  state: oneOf('active', 'invited'),
  has_passkey: flag,
  has_totp: flag,
  invited_at: nullable(moment),
  joined_at: nullable(moment),
})

/** A person in an account, as its owner sees them. */
export type Member = ReturnType<typeof memberShape>

export const membersShape = object({ data: list(memberShape) })

const linkShape = object({ url: text, expires_at: moment })

/** A one-time link by which a person joins; shown this once. */
export type InvitationLink = ReturnType<typeof linkShape>

export const newMemberShape = object({ member: memberShape, link: linkShape })
export const newLinkShape = object({ link: linkShape })

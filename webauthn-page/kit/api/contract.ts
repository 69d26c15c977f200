import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { ATTACHMENT_KINDS } from '../../../src/domain/attachment.ts'
import { REVERSIBILITIES } from '../../../src/domain/request.ts'
import type { channelListAnswer, chatLinkAnswer, identitiesAnswer } from '../../../src/http/api/chat.ts'
import type { consentAnswer, waitingConsentsAnswer } from '../../../src/http/api/consents.ts'
import type { reviewAnswer } from '../../../src/http/api/decisions.ts'
import type { enrollmentAnswer } from '../../../src/http/api/enrollment.ts'
import type { backupCodesAnswer, factorsAnswer, totpSetUpAnswer } from '../../../src/http/api/factors.ts'
import type { pendingAnswer } from '../../../src/http/api/inbox.ts'
import type { proofAnswer } from '../../../src/http/api/receipts.ts'
import type { userAnswer } from '../../../src/http/api/session.ts'
import type { Answer, okAnswer } from '../../../src/http/api/shared/fields.ts'
import {
  answer,
  anyObject,
  count,
  flag,
  list,
  moment,
  nullable,
  object,
  oneOf,
  optional,
  type Shape,
  text,
} from './shape.ts'

export const factor = oneOf('passkey', 'totp')

/** A way of proving presence. */
export type Factor = ReturnType<typeof factor>

/** Checks only the challenge; the browser itself checks the rest of the WebAuthn options. */
function withChallenge<T>(): Shape<T> {
  return (value, path) => {
    text(anyObject(value, path).challenge, `${path}.challenge`)
    return value as T
  }
}

const creationOptions = withChallenge<PublicKeyCredentialCreationOptionsJSON>()
export const requestOptions = withChallenge<PublicKeyCredentialRequestOptionsJSON>()

/** The signed-in person. */
export type User = Answer<typeof userAnswer>
export const sessionShape = answer<{ user: User }>()
export const sessionWithCodesShape = answer<{ user: User; backup_codes: string[] }>()
export const okShape = answer<Answer<typeof okAnswer>>()

export const creationOptionsShape = object({ options: creationOptions })
export const requestOptionsShape = object({ options: requestOptions })

/** What a one-time enrolment link offers. */
export type Invitation = Answer<typeof enrollmentAnswer>
export const invitationShape = answer<Invitation>()

export type TotpSecret = Answer<typeof totpSetUpAnswer>
export const totpSecretShape = answer<TotpSecret>()

export type Factors = Answer<typeof factorsAnswer>
export type PasskeyEntry = Factors['passkeys'][number]
export const factorsShape = answer<Factors>()

export const stepUpShape = object({ methods: list(factor), options: optional(requestOptions) })
export const backupCodesShape = answer<Answer<typeof backupCodesAnswer>>()

/** The content of a one-time link from chat. The platform and its users chose the names in it. */
export type ChatLink = Answer<typeof chatLinkAnswer>
export type Platform = ChatLink['platform']
export const chatLinkShape = answer<ChatLink>()

export const identitiesShape = answer<Answer<typeof identitiesAnswer>>()
export type ChatIdentity = Answer<typeof identitiesAnswer>['identities'][number]
export const channelsShape = answer<Answer<typeof channelListAnswer>>()
export type ChatChannel = Answer<typeof channelListAnswer>['data'][number]

export const pendingShape = answer<Answer<typeof pendingAnswer>>()
export type PendingRequest = Answer<typeof pendingAnswer>['data'][number]

export const waitingConsentsShape = answer<Answer<typeof waitingConsentsAnswer>>()
export type WaitingConsent = Answer<typeof waitingConsentsAnswer>['data'][number]

/** A person for whom the signed-in person decides; `delegate` is the signed-in person's own reference. */
const principal = object({ name: text, approver: text, delegate: text })
export type Principal = ReturnType<typeof principal>

const attachment = object({
  name: text,
  kind: oneOf(...ATTACHMENT_KINDS),
  sha256: text,
  bytes: count,
  base: optional(text),
  opened: flag,
})

/** The fields that a decision signs (`shownIntent`), and the times for the page's count-down. */
const signedReview = object({
  id: text,
  action: text,
  context_json: text,
  context_sha256: text,
  created_at: moment,
  expires_at: moment,
  server_time: moment,
  high_impact: flag,
  requested_by: object({ key_name: text, account_name: text, key_revoked: optional(oneOf(true)) }),
  requester: object({ key: text, account: text }),
  policy: object({
    approvers: list(text),
    passkey_only: flag,
    confirmed_only: optional(flag),
    authenticators: optional((value, path) => (value === 'attested' ? value : list(text)(value, path))),
  }),
  audience: optional(text),
  reversibility: optional(oneOf(...REVERSIBILITIES)),
  use_within_seconds: optional(count),
  attachments: optional(list(attachment)),
  quorum: object({ needed: count, approved: count }),
  approver: nullable(text),
  on_behalf_of: optional(nullable(principal)),
})

/** A request to review, without `context` on purpose: the page shows only what it parses from `context_json`, the signed text. */
export type Review = Omit<Answer<typeof reviewAnswer>, 'context' | keyof ReturnType<typeof signedReview>> &
  ReturnType<typeof signedReview>
export type Attachment = ReturnType<typeof attachment>
export type Vote = Review['votes'][number]
export type Decision = NonNullable<Review['decision']>

export const reviewShape: Shape<Review> = (value, path) => {
  const { context: _, ...shown } = answer<Answer<typeof reviewAnswer>>()(value, path)
  return { ...shown, ...signedReview(value, path) }
}

/** How far the log has a decision, and the bundle as it is then. */
export type Proof = Answer<typeof proofAnswer>
export const proofShape = answer<Proof>()

/** Passkey options for a decision on a request or a key. The intent is untyped: `checkIntent` compares even unknown fields. */
export const decisionOptionsShape = object({ intent: anyObject, options: requestOptions })

/** The fields that a consent signs, and the times for the page's count-down. */
const signedConsent = object({
  id: text,
  client_name: text,
  scopes: list(oneOf('approval:create', 'approval:read', 'approval:verify')),
  created_at: moment,
  expires_at: moment,
  server_time: moment,
})

/** An agent's request for a key. It does not contain the matching code: the agent shows that code. */
export type Consent = Omit<Answer<typeof consentAnswer>, keyof ReturnType<typeof signedConsent>> &
  ReturnType<typeof signedConsent>

export const consentShape: Shape<Consent> = (value, path) => ({
  ...answer<Answer<typeof consentAnswer>>()(value, path),
  ...signedConsent(value, path),
})

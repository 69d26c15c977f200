import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { REVERSIBILITIES } from '../../../src/domain/request.ts'
import type { channelListAnswer, chatLinkAnswer, identitiesAnswer } from '../../../src/http/api/chat.ts'
import type { waitingConsentsAnswer } from '../../../src/http/api/consents.ts'
import type { enrollmentAnswer } from '../../../src/http/api/enrollment.ts'
import type { backupCodesAnswer, factorsAnswer, totpSetUpAnswer } from '../../../src/http/api/factors.ts'
import type { pendingAnswer } from '../../../src/http/api/inbox.ts'
import type { userAnswer } from '../../../src/http/api/session.ts'
import type { Answer, okAnswer } from '../../../src/http/api/shared/fields.ts'
import {
  answer,
  anyObject,
  count,
  flag,
  isRecord,
  list,
  moment,
  nullable,
  object,
  oneOf,
  optional,
  type Shape,
  ShapeError,
  text,
} from './shape.ts'

const outcome = oneOf('approved', 'rejected')
export const factor = oneOf('passkey', 'totp')

/** Ways of proving presence. */
export type Factor = ReturnType<typeof factor>

function withChallenge(value: unknown, path: string): void {
  if (!isRecord(value)) throw new ShapeError(path, 'an object')
  text(value.challenge, `${path}.challenge`)
}

/** Only the challenge is looked at here; the browser itself checks the rest of the options. */
const creationOptions: Shape<PublicKeyCredentialCreationOptionsJSON> = (value, path) => {
  withChallenge(value, path)
  return value as PublicKeyCredentialCreationOptionsJSON
}

export const requestOptions: Shape<PublicKeyCredentialRequestOptionsJSON> = (value, path) => {
  withChallenge(value, path)
  return value as PublicKeyCredentialRequestOptionsJSON
}

/** The signed-in person. */
export type User = Answer<typeof userAnswer>
export const sessionShape = answer<{ user: User }>()
export const sessionWithCodesShape = answer<{ user: User; backup_codes: string[] }>()
export const okShape = answer<Answer<typeof okAnswer>>()

export const creationOptionsShape = object({ options: creationOptions })
export const requestOptionsShape = object({ options: requestOptions })

/** What a one-time link for enrolling is for. */
export type Invitation = Answer<typeof enrollmentAnswer>
export const invitationShape = answer<Invitation>()

export type TotpSecret = Answer<typeof totpSetUpAnswer>
export const totpSecretShape = answer<TotpSecret>()

export type Factors = Answer<typeof factorsAnswer>
export type PasskeyEntry = Factors['passkeys'][number]
export const factorsShape = answer<Factors>()

export const stepUpShape = object({ methods: list(factor), options: optional(requestOptions) })
export const backupCodesShape = answer<Answer<typeof backupCodesAnswer>>()

/** What a one-time link from chat is about. The names are the platform's and its users' own words. */
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

/** A person for whom the signed-in person decides; `delegate` is the person's own reference. */
const principal = object({ name: text, approver: text, delegate: text })
export type Principal = ReturnType<typeof principal>

const revoked: Shape<true> = (value, path) => {
  if (value !== true) throw new ShapeError(path, 'true')
  return value
}

const quorum = object({ needed: count, approved: count })
const requestedBy = object({ key_name: text, account_name: text, key_revoked: optional(revoked) })

const voteShape = object({
  approver: text,
  delegate: optional(text),
  decision: outcome,
  method: text,
  at: moment,
  mine: flag,
  comment: nullable(text),
})
export type Vote = ReturnType<typeof voteShape>

/** One of several votes; without a signature where it is an approval and the request was rejected. */
const signedVoteShape = object({
  id: text,
  decision: outcome,
  method: text,
  signed_payload: optional(text),
  signature: optional(text),
  public_key_id: optional(text),
  decided_at: moment,
  approver: text,
  delegate: optional(text),
  comment: nullable(text),
  intent: optional(text),
})

const decisionShape = object({
  id: text,
  decision: outcome,
  method: text,
  decided_at: moment,
  comment: nullable(text),
  approver: text,
  delegate: optional(text),
  signed_payload: text,
  signature: text,
  public_key_id: text,
  intent: optional(text),
  votes: optional(list(signedVoteShape)),
})
export type Decision = ReturnType<typeof decisionShape>

const authenticators: Shape<'attested' | string[]> = (value, path) =>
  value === 'attested' ? value : list(text)(value, path)

/** What people are called, by reference. */
const namesShape: Shape<Record<string, string>> = (value, path) =>
  Object.fromEntries(
    Object.entries(anyObject(value, path)).map(([key, name]) => [key, text(name, `${path}.${key}`)]),
  )

/** `context` itself is left out on purpose: the page shows only what it parses from `context_json`, the signed text. */
export const reviewShape = object({
  id: text,
  status: oneOf('pending', 'approved', 'rejected', 'expired'),
  cancelled: optional(flag),
  action: text,
  context_json: text,
  context_sha256: text,
  created_at: moment,
  expires_at: moment,
  server_time: moment,
  high_impact: flag,
  sandbox: optional(flag),
  requested_by: requestedBy,
  requester: object({ key: text, account: text }),
  policy: object({
    approvers: list(text),
    passkey_only: flag,
    confirmed_only: optional(flag),
    authenticators: optional(authenticators),
  }),
  audience: optional(text),
  reversibility: optional(oneOf(...REVERSIBILITIES)),
  quorum,
  approver: nullable(text),
  on_behalf_of: optional(nullable(principal)),
  may_decide: flag,
  why_not: optional(text),
  methods: list(factor),
  not_reachable: list(text),
  same_address: optional(flag),
  votes: list(voteShape),
  seen: optional(list(object({ approver: text, at: moment }))),
  decision: optional(decisionShape),
  names: optional(namesShape),
})
export type Review = ReturnType<typeof reviewShape>

/** For a decision on a request or a key. The intent stays untyped: `checkIntent` compares every field, unknown ones, too. */
export const decisionOptionsShape = object({ intent: anyObject, options: requestOptions })

/** One agent's request for a key. The matching code is not in it: the agent shows it. */
export const consentShape = object({
  id: text,
  client_name: text,
  requester: object({ address: text, user_agent: text }),
  scopes: list(oneOf('approval:create', 'approval:read', 'approval:verify')),
  created_at: moment,
  expires_at: moment,
  status: oneOf('pending', 'approved', 'rejected', 'expired'),
  server_time: moment,
  tries_left: count,
  methods: list(oneOf('passkey', 'totp')),
  consent: optional(object({ decision: outcome, method: text, at: moment })),
  collect_by: optional(moment),
  collected: optional(object({ at: moment, address: optional(text), key_id: optional(text) })),
})
export type Consent = ReturnType<typeof consentShape>

import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import {
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

const userShape = object({
  id: text,
  email: text,
  name: text,
  approver: text,
  account_id: text,
  role: text,
  has_passkey: flag,
  has_totp: flag,
  default_ttl_seconds: count,
  delegate: nullable(object({ name: text, email: text, starts_at: moment, ends_at: moment })),
})
export type User = ReturnType<typeof userShape>

export const sessionShape = object({ user: userShape })
export const sessionWithCodesShape = object({ user: userShape, backup_codes: list(text) })
export const okShape = object({})

export const creationOptionsShape = object({ options: creationOptions })
export const requestOptionsShape = object({ options: requestOptions })

export const invitationShape = object({
  kind: oneOf('setup', 'invite'),
  email: nullable(text),
  name: nullable(text),
  expires_at: moment,
  account_id: optional(text),
  account_name: optional(text),
  role: optional(oneOf('approver', 'auditor')),
  enrolled: optional(flag),
})
export type Invitation = ReturnType<typeof invitationShape>

export const totpSecretShape = object({ secret: text, otpauth_url: text, qr_svg: text })
export type TotpSecret = ReturnType<typeof totpSecretShape>

const passkeyShape = object({
  id: text,
  name: text,
  created_at: moment,
  last_used_at: nullable(moment),
  synced: flag,
  suspended: flag,
})
export type PasskeyEntry = ReturnType<typeof passkeyShape>

export const factorsShape = object({
  passkeys: list(passkeyShape),
  totp: object({ enabled: flag, since: nullable(moment) }),
  backup_codes_left: count,
})
export type Factors = ReturnType<typeof factorsShape>

export const stepUpShape = object({ methods: list(factor), options: optional(requestOptions) })
export const backupCodesShape = object({ backup_codes: list(text) })

const apiKeyShape = object({
  id: text,
  name: text,
  key_prefix: text,
  sandbox: flag,
  created_at: moment,
  last_used_at: nullable(moment),
  revoked_at: nullable(moment),
})
export type ApiKeyEntry = ReturnType<typeof apiKeyShape>
export const apiKeysShape = object({ data: list(apiKeyShape), next_cursor: nullable(text) })
export const newApiKeyShape = object({ raw_key: text, key: apiKeyShape })

const platform = oneOf('slack', 'teams')
export type Platform = ReturnType<typeof platform>

/** What a one-time link from chat is about. The names are the platform's and its users' own words. */
export const chatLinkShape = object({
  id: text,
  kind: oneOf('link', 'channel', 'browser'),
  platform,
  person: text,
  workspace: text,
  channel: optional(text),
  expires_at: moment,
})
export type ChatLink = ReturnType<typeof chatLinkShape>

const identityShape = object({
  key: text,
  platform,
  tenant: text,
  person: optional(text),
  workspace: optional(text),
  linked_at: moment,
})
export type ChatIdentity = ReturnType<typeof identityShape>
export const identitiesShape = object({ identities: list(identityShape) })

const channelShape = object({
  platform,
  tenant: text,
  channel: text,
  name: optional(text),
  workspace: optional(text),
})
export type ChatChannel = ReturnType<typeof channelShape>
export const channelsShape = object({ data: list(channelShape), next_cursor: nullable(text) })

/** A person for whom the signed-in person decides; `delegate` is the person's own reference. */
const principal = object({ name: text, approver: text, delegate: text })
export type Principal = ReturnType<typeof principal>

const quorum = object({ needed: count, approved: count })
const requestedBy = object({ key_name: text, account_name: text, key_revoked: optional(flag) })

const pendingRequestShape = object({
  id: text,
  action: text,
  high_impact: flag,
  requested_by: requestedBy,
  created_at: moment,
  expires_at: moment,
  on_behalf_of: optional(nullable(principal)),
  quorum: optional(quorum),
  may_decide: optional(flag),
  methods: optional(list(factor)),
})
export type PendingRequest = ReturnType<typeof pendingRequestShape>
export const pendingShape = object({ data: list(pendingRequestShape) })

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
  quorum,
  approver: nullable(text),
  on_behalf_of: optional(nullable(principal)),
  may_decide: flag,
  why_not: optional(text),
  methods: list(factor),
  not_reachable: list(text),
  votes: list(voteShape),
  decision: optional(decisionShape),
})
export type Review = ReturnType<typeof reviewShape>

/** For a decision on a request or a key. The intent stays untyped: `checkIntent` compares every field, unknown ones, too. */
export const decisionOptionsShape = object({ intent: anyObject, options: requestOptions })
export const voteAnswerShape = object({ id: text, status: text })

const waiting = {
  id: text,
  client_name: text,
  requester: object({ address: text, user_agent: text }),
  scopes: list(text),
  created_at: moment,
  expires_at: moment,
}

const waitingShape = object(waiting)
export type WaitingConsent = ReturnType<typeof waitingShape>
export const waitingConsentsShape = object({ data: list(waitingShape) })

/** One agent's request for a key. The matching code is not in it: the agent shows it. */
export const consentShape = object({
  ...waiting,
  status: oneOf('pending', 'approved', 'rejected', 'expired'),
  server_time: moment,
  tries_left: count,
  methods: list(oneOf('passkey', 'totp')),
  consent: optional(object({ decision: outcome, method: text, at: moment })),
  collect_by: optional(moment),
  collected: optional(object({ at: moment, address: optional(text), key_id: optional(text) })),
})
export type Consent = ReturnType<typeof consentShape>

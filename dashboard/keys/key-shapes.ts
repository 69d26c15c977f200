import {
  count,
  flag,
  list,
  moment,
  nullable,
  object,
  optional,
  text,
} from '../../webauthn-page/kit/api/shape.ts'

const keyPolicyShape = object({
  approvers: optional(list(text)),
  quorum: optional(count),
  passkey_only: optional(flag),
  high_impact: optional(flag),
})

/** What a key adds to the account's policy. */
export type KeyPolicy = ReturnType<typeof keyPolicyShape>

const keyShape = object({
  id: text,
  name: text,
  key_prefix: text,
  sandbox: flag,
  scopes: list(text),
  source_control: flag,
  policy: nullable(keyPolicyShape),
  created_at: moment,
  last_used_at: nullable(moment),
  revoked_at: nullable(moment),
})

/** An API key, as its account's owner sees it. */
export type Key = ReturnType<typeof keyShape>

export const keysShape = object({ data: list(keyShape), next_cursor: nullable(text) })
export const newKeyShape = object({ raw_key: text, key: keyShape })

/** `GET /account/webhook-secret`: of all keys that are not revoked. */
export const secretsShape = object({ keys: list(object({ id: text, webhook_signing_secret: text })) })

const approverShape = object({ user_id: text, name: text, email: text })

/** A person the account's policy names. */
export type PolicyApprover = ReturnType<typeof approverShape>

/** What `GET /account/policy` says that bounds the policy of a key. */
export const accountPolicyShape = object({
  approvers: list(approverShape),
  quorum: count,
  passkey_only: flag,
  high_impact: flag,
})
export type AccountPolicy = ReturnType<typeof accountPolicyShape>

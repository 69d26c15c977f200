import type { createdKeyAnswer, keyListAnswer, webhookSecretAnswer } from '../../src/http/api/api-keys.ts'
import type { policyAnswer } from '../../src/http/api/policy.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

export const keysShape = answer<Answer<typeof keyListAnswer>>()
export const newKeyShape = answer<Answer<typeof createdKeyAnswer>>()

/** An API key, as its account's owner sees it. */
export type Key = Answer<typeof keyListAnswer>['data'][number]

/** What a key adds to the account's policy. */
export type KeyPolicy = NonNullable<Key['policy']>

type Policy = Answer<typeof policyAnswer>

/** `GET /account/webhook-secret`: of all keys that are not revoked. */
export const secretsShape = answer<Extract<Answer<typeof webhookSecretAnswer>, { keys: unknown }>>()

/** A person the account's policy names. */
export type PolicyApprover = Pick<Policy['approvers'][number], 'user_id' | 'name' | 'email'>

/** What `GET /account/policy` says that bounds the policy of a key. */
export type AccountPolicy = Pick<Policy, 'quorum' | 'passkey_only' | 'high_impact' | 'confirmed_only'> & {
  approvers: PolicyApprover[]
}
export const accountPolicyShape = answer<AccountPolicy>()

import type { createdKeyAnswer, keyListAnswer, webhookSecretAnswer } from '../../src/http/api/api-keys.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

export const keysShape = answer<Answer<typeof keyListAnswer>>()
export const newKeyShape = answer<Answer<typeof createdKeyAnswer>>()

/** An API key, as its account's owner sees it. */
export type Key = Answer<typeof keyListAnswer>['data'][number]

/** The rules that a key adds to the account's policy. */
export type KeyPolicy = NonNullable<Key['policy']>

/** `GET /account/webhook-secret`: the signing secrets of all keys that are not revoked. */
export const secretsShape = answer<Extract<Answer<typeof webhookSecretAnswer>, { keys: unknown }>>()

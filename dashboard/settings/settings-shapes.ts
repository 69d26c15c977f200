import type { accountAnswer } from '../../src/http/api/account.ts'
import type { policyAnswer } from '../../src/http/api/policy.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

/** The rules for who decides. */
export type Policy = Answer<typeof policyAnswer>
export const policyShape = answer<Policy>()

/** `GET /account`, as far as the page shows it. */
export type Account = Pick<
  Answer<typeof accountAnswer>,
  'id' | 'name' | 'names_in_channels' | 'reject_reasons' | 'volumes' | 'created_at' | 'quota'
>
export const accountShape = answer<Account>()

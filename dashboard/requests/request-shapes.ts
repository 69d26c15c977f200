import type { historyAnswer } from '../../src/http/api/account.ts'
import type { keyListAnswer } from '../../src/http/api/api-keys.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

/** `GET /account/requests`. */
export const requestPageShape = answer<Answer<typeof historyAnswer>>()

/** A request as the history lists it. */
export type RequestRow = Answer<typeof historyAnswer>['data'][number]

/** `GET /account/api-keys`, as far as the filters need it. */
export const keyNamesShape = answer<Answer<typeof keyListAnswer>>()

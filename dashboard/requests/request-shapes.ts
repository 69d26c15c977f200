import type { historyAnswer, withdrawnAnswer } from '../../src/http/api/account.ts'
import type { requestLogAnswer } from '../../src/http/api/deliveries.ts'
import type { overviewAnswer } from '../../src/http/api/overview.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

/** `GET /account/requests`. */
export type RequestPage = Answer<typeof historyAnswer>
export const requestPageShape = answer<RequestPage>()

/** `GET /account/overview`. */
export type Overview = Answer<typeof overviewAnswer>
export const overviewShape = answer<Overview>()

export const withdrawnShape = answer<Answer<typeof withdrawnAnswer>>()

/** A request as the history lists it. */
export type RequestRow = RequestPage['data'][number]

/** `GET /approvals/:id/deliveries`; every page names all cards. */
export type RequestLog = Answer<typeof requestLogAnswer>
export const requestLogShape = answer<RequestLog>()

/** One delivery of an event to the callback or a webhook. */
export type Delivery = RequestLog['data'][number]

/** A message about the request on a chat platform. */
export type Card = RequestLog['cards'][number]

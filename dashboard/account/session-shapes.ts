import type { othersEndedAnswer, ownSessionsAnswer } from '../../src/http/api/session.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

export const sessionsShape = answer<Answer<typeof ownSessionsAnswer>>()
export const endedShape = answer<Answer<typeof othersEndedAnswer>>()

/** A browser in which the person is signed in. */
export type SessionEntry = Answer<typeof ownSessionsAnswer>['data'][number]

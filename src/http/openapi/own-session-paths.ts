import { okAnswer } from '../api/shared/fields.ts'
import { idInPath, operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { othersEndedAnswer, ownSessionsAnswer } from '../schemas/responses/own-sessions.ts'

/** A person's own sessions. */
export const ownSessionOperations = operations('Signing in', {
  'get /api/v1/me/sessions': {
    id: 'listSessions',
    summary: 'Where I am signed in',
    description: 'Live sessions, the latest used first; at most the latest hundred.',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: ownSessionsAnswer, description: 'All of them.' } },
  },
  'post /api/v1/me/sessions/end-others': {
    id: 'endOtherSessions',
    summary: 'End all my other sessions',
    access: SIGNED_IN_CHANGE,
    limited: true,
    answers: { '200': { schema: othersEndedAnswer, description: 'Only the session that asks is left.' } },
  },
  'post /api/v1/me/sessions/{id}/end': {
    id: 'endOneSession',
    summary: 'End one of my sessions',
    description: 'At once, for its cookie and its JWTs; also the one that asks.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path: idInPath('ses', 'Session id.') },
    answers: { '200': { schema: okAnswer, description: 'Ended.' } },
    refusals: ['not_found'],
  },
})

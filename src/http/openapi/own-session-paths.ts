import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { idField, okAnswer } from '../schemas/responses/fields.ts'
import { othersEndedAnswer, ownSessionsAnswer } from '../schemas/responses/own-sessions.ts'
import { operation } from './operation.ts'

const tag = 'Signing in'
const person = { by: 'session', changes: true } as const

const list = operation({
  id: 'listSessions',
  tag,
  summary: 'Where I am signed in',
  description: 'Live sessions, the latest used first; at most the latest hundred.',
  access: { by: 'session', changes: false },
  limited: true,
  answers: { '200': { schema: ownSessionsAnswer, description: 'All of them.' } },
})

const endOne = operation({
  id: 'endOneSession',
  tag,
  summary: 'End one of my sessions',
  description: 'At once, for its cookie and its JWTs; also the one that asks.',
  access: person,
  limited: true,
  parameters: { path: z.object({ id: idField('ses').meta({ description: 'Session id.' }) }) },
  answers: { '200': { schema: okAnswer, description: 'Ended.' } },
  refusals: ['not_found'],
})

const endOthers = operation({
  id: 'endOtherSessions',
  tag,
  summary: 'End all my other sessions',
  access: person,
  limited: true,
  answers: { '200': { schema: othersEndedAnswer, description: 'Only the session that asks is left.' } },
})

/** A person's own sessions. */
export const ownSessionPaths: ZodOpenApiPathsObject = {
  '/api/v1/me/sessions': { get: list },
  '/api/v1/me/sessions/end-others': { post: endOthers },
  '/api/v1/me/sessions/{id}/end': { post: endOne },
}

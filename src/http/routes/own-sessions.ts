import { type RequestHandler, Router } from 'express'
import { endOtherSessions, endOwnSession, listSessions } from '../../flow/people/sessions.ts'
import { presentSession } from '../api/session.ts'
import type { HttpDeps } from '../http-deps.ts'
import { writeCookie } from '../middleware/cookies.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { clientOf, requireSession, sessionOf } from '../middleware/session.ts'

/** Where a person is signed in, and the end of that. Ending takes a right away, so it needs no proof. */
export function ownSessionRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', person, list(deps))
  router.post('/end-others', person, endOthers(deps))
  router.post('/:id/end', person, endOne(deps))
  return router
}

function list(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const who = sessionOf(response)
    const sessions = await listSessions(deps, who)
    response.json({
      data: sessions.map((session) => presentSession(session, who.session.id)),
      next_cursor: null,
    })
  }
}

function endOthers(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const ended = await endOtherSessions(deps, sessionOf(response), clientOf(request).address)
    response.json({ ok: true, ended })
  }
}

function endOne(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const who = sessionOf(response)
    await endOwnSession(deps, who, request.params.id, clientOf(request).address)
    if (request.params.id === who.session.id) writeCookie(response, 'session', deps.settings.baseUrl, '', 0)
    response.json({ ok: true })
  }
}

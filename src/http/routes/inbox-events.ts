import { type RequestHandler, Router } from 'express'
import { watchInbox } from '../../flow/watch-inbox.ts'
import { clientGone } from '../client-gone.ts'
import { errorEventData, openEventStream } from '../event-stream.ts'
import type { HttpDeps } from '../http-deps.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'

/** A stream ends after a quarter of an hour, as long as a session JWT is good; clients come back by themselves. */
const STREAM_MS = 900_000

/** `GET /api/v1/me/pending/events`: tells a signed-in person whenever what waits for them may have changed. */
export function inboxEventRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.get('/', requireSession(deps, 'polled'), stream(deps))
  return router
}

function stream(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const who = sessionOf(response)
    const giveBack = deps.inboxSlots.take(who.user.id)
    const gone = clientGone(response)
    const until = new Date(deps.clock.now().getTime() + STREAM_MS)
    const events = openEventStream(response)
    try {
      if (request.method === 'HEAD') return
      const changes = watchInbox(deps, who, { until, signal: gone })
      for await (const event of changes) await events.send({ event, data: {} })
      if (deps.changes.stopped()) await events.send({ event: 'shutdown', data: {} })
    } catch (error) {
      await events.send({ event: 'error', data: errorEventData(deps, error) })
    } finally {
      events.end()
      giveBack()
    }
  }
}

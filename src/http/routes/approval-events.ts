import type { RequestHandler } from 'express'
import type { ApprovalRequest } from '../../domain/request.ts'
import { watchRequest } from '../../flow/watch-request.ts'
import { presentRequest } from '../api/approvals.ts'
import { clientGone } from '../client-gone.ts'
import { type EventStream, errorEventData, openEventStream } from '../event-stream.ts'
import type { HttpDeps } from '../http-deps.ts'
import { callerOf } from '../middleware/authenticate.ts'

/** A stream ends after an hour at the latest; clients come back by themselves. */
const STREAM_MS = 3_600_000

/** `GET /:id/events`: the request as server-sent events, from now until it is decided, withdrawn or expired. */
export function streamEvents(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const caller = callerOf(response)
    const giveBack = deps.waitSlots.take(caller.key.id)
    const gone = clientGone(response)
    const until = new Date(deps.clock.now().getTime() + STREAM_MS)
    const states = watchRequest(deps, caller, request.params.id, { until, signal: gone })
    try {
      const first = await states.next()
      if (first.done) return
      if (isSettledFor(first.value, request.get('Last-Event-ID'))) response.status(204).end()
      else {
        const events = openEventStream(response)
        if (request.method !== 'HEAD') await sendAll(deps, events, first.value, states)
        events.end()
      }
    } finally {
      await states.return()
      giveBack()
    }
  }
}

/** A client that has the final state and comes back all the same must stop: 204 tells an EventSource to. */
function isSettledFor({ status, version }: ApprovalRequest, lastEventId: string | undefined): boolean {
  return status !== 'pending' && lastEventId === String(version)
}

async function sendAll(
  deps: HttpDeps,
  events: EventStream,
  first: ApprovalRequest,
  later: AsyncIterable<ApprovalRequest>,
): Promise<void> {
  const show = statusSender(events)
  let { status } = first
  try {
    await show(first)
    for await (const state of later) {
      await show(state)
      status = state.status
    }
    if (status === 'pending' && deps.changes.stopped()) await events.send({ event: 'shutdown', data: {} })
  } catch (error) {
    await events.send({ event: 'error', data: errorEventData(deps, error) })
  }
}

/** Sends a state only when it looks different from the one before. */
function statusSender(events: EventStream): (request: ApprovalRequest) => Promise<void> {
  let shown = ''
  return async (request) => {
    const data = presentRequest(request)
    const text = JSON.stringify(data)
    if (text === shown) return
    shown = text
    await events.send({ event: 'status', id: String(request.version), data })
  }
}

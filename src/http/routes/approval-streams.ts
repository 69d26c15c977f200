import type { z } from 'zod'
import type { ApprovalRequest } from '../../domain/request.ts'
import { watchRequest } from '../../flow/requests/wait-for-decision.ts'
import { watchKey } from '../../flow/requests/watch-key.ts'
import { presentRequest } from '../api/approval.ts'
import { clientGone, type EventStream, errorEventData, openEventStream } from '../event-stream.ts'
import type { Endpoint, WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { callerOf } from '../middleware/authenticate.ts'

/** Milliseconds after which a stream ends at the latest: an hour. Clients reconnect by themselves. */
const STREAM_MS = 3_600_000

/** `GET /:id/events`: sends the request as server-sent events until it is decided, withdrawn or expired. */
export const streamApproval: Endpoint<z.ZodType, WithId> = async (deps, request, response) => {
  const caller = callerOf(response)
  const giveBack = deps.waitSlots.take(caller.key)
  const gone = clientGone(response)
  const states = watchRequest(deps, caller, request.params.id, { ms: STREAM_MS, signal: gone })
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

/** Checks whether the client already has the final state: the answer 204 then stops its EventSource from reconnecting. */
function isSettledFor({ status, version }: ApprovalRequest, lastEventId: string | undefined): boolean {
  return status !== 'pending' && lastEventId === String(version)
}

async function sendAll(
  deps: HttpDeps,
  events: EventStream,
  first: ApprovalRequest,
  later: AsyncIterable<ApprovalRequest>,
): Promise<void> {
  const show = statusSender(events, deps.settings.baseUrl)
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

/** Returns a function that sends a state only when it looks different from the previous state. */
function statusSender(events: EventStream, baseUrl: string): (request: ApprovalRequest) => Promise<void> {
  let shown = ''
  return async (request) => {
    const data = presentRequest(request, baseUrl)
    const text = JSON.stringify(data)
    if (text === shown) return
    shown = text
    await events.send({ event: 'status', id: String(request.version), data })
  }
}

/** `GET /events`: sends all requests of the key as server-sent events, the pending ones first. */
export const streamApprovals: Endpoint = async (deps, request, response) => {
  const caller = callerOf(response)
  const giveBack = deps.waitSlots.take(caller.key)
  const gone = clientGone(response)
  const states = watchKey(deps, caller, { ms: STREAM_MS, signal: gone })
  try {
    // A refusal before the first event is an answer of its own.
    const first = await states.next()
    if (gone.aborted) return
    const events = openEventStream(response)
    if (request.method !== 'HEAD') {
      if (!first.done) await sendState(deps, events, first.value)
      await sendStates(deps, events, states)
    }
    events.end()
  } finally {
    await states.return()
    giveBack()
  }
}

async function sendStates(
  deps: HttpDeps,
  events: EventStream,
  states: AsyncIterable<ApprovalRequest | 'listed'>,
): Promise<void> {
  try {
    for await (const state of states) await sendState(deps, events, state)
    if (deps.changes.stopped()) await events.send({ event: 'shutdown', data: {} })
  } catch (error) {
    await events.send({ event: 'error', data: errorEventData(deps, error) })
  }
}

/** Without an `id`: there is no place in this stream from which it could be sent again. */
async function sendState(
  { settings }: HttpDeps,
  events: EventStream,
  state: ApprovalRequest | 'listed',
): Promise<void> {
  if (state === 'listed') await events.send({ event: 'listed', data: {} })
  else await events.send({ event: 'status', data: presentRequest(state, settings.baseUrl) })
}

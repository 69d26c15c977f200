import { expect } from 'vitest'
import { type EventSourceClient, openStream } from './event-source.ts'
import type { TestService } from './service.ts'
import { startStopwatch } from './stopwatch.ts'

const PATH = '/api/v1/me/pending/events'

/** What tells a reader to look again. */
export const CHANGED = { event: 'changed', data: {} }

/** Opens the stream of that session. */
export function openInbox(service: TestService, token: string): Promise<EventSourceClient> {
  return openStream(`${service.url}${PATH}`, { authorization: `Bearer ${token}` })
}

/** Opens it and reads its beginning: whatever changes from now on is told. */
export async function watchInbox(service: TestService, token: string): Promise<EventSourceClient> {
  const stream = await openInbox(service, token)
  expect(stream.status).toBe(200)
  expect(await stream.next()).toEqual({ retry: '3000' })
  expect(await stream.next()).toEqual(CHANGED)
  return stream
}

/** The next event, and how long it took to come, by a stopwatch that neither a busy machine nor a busy store drives on. */
export async function timedNext(stream: EventSourceClient, service: TestService) {
  const stop = startStopwatch(service)
  const event = await stream.next()
  return { event, ms: stop() }
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, newCaller, send, signIn, stored } from '../../support/caller.ts'
import type { EventSourceClient } from '../../support/event-source.ts'
import { openInbox, watchInbox } from '../../support/inbox-stream.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startStopwatch } from '../../support/stopwatch.ts'

const PATH = '/api/v1/me/pending/events'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const over = { event: 'error', data: { error: 'not_signed_in', message: expect.any(String), status: 401 } }

async function person() {
  const caller = await newCaller(service)
  const token = await signIn(service, caller.user)
  const session = await stored(service, 'sessions').findOne({ user_id: caller.user.id })
  return { ...caller, session: String(session?._id), sessionToken: token }
}

describe('before the stream', () => {
  it('401: nobody without a session, and no API key', async () => {
    const caller = await newCaller(service)
    for (const token of [undefined, caller.token]) {
      const answer = await send(service, PATH, token === undefined ? {} : { token })
      expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    }
  })

  it('T67, 429: the 11th of a person over all their sessions, until one of them is gone', async () => {
    const { user, sessionToken } = await person()
    const tokens = [sessionToken, await signIn(service, user)]
    const streams: EventSourceClient[] = []
    for (let index = 0; index < 10; index += 1)
      streams.push(await watchInbox(service, tokens[index % 2] ?? ''))
    const refused = await send(service, PATH, { token: sessionToken })
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({ error: 'too_many_waits', message: expect.any(String), retry_after: 3 })
    expect(refused.headers.get('retry-after')).toBe('3')
    streams.shift()?.close()
    const again = async () => {
      const stream = await openInbox(service, sessionToken)
      if (stream.status === 200) streams.push(stream)
      return stream.status
    }
    await expect.poll(again).toBe(200)
    for (const stream of streams) stream.close()
  })
})

describe('during the stream', () => {
  it('ends soon after the session was ended from another one', async () => {
    const { user, session, sessionToken } = await person()
    const stream = await watchInbox(service, sessionToken)
    const other = await signIn(service, user)
    const path = `/api/v1/me/sessions/${session}/end`
    expect((await send(service, path, { method: 'POST', token: other })).status).toBe(200)
    const stop = startStopwatch(service)
    expect(await stream.rest()).toEqual([over])
    expect(stop()).toBeLessThan(1_000)
  })

  it.each([
    ['was ended', { ended_at: new Date() }],
    ['ran out', { expires_at: new Date(0) }],
    ['was idle for too long', { last_seen_at: new Date(0) }],
  ])('ends soon after the session %s, though no request came to this process', async (_what, change) => {
    const { session, sessionToken } = await person()
    const stream = await watchInbox(service, sessionToken)
    await alter(service, 'sessions', session, change)
    const stop = startStopwatch(service)
    expect(await stream.rest()).toEqual([over])
    expect(stop()).toBeLessThan(3_000)
  })

  it('goes on while another session of the same person ends', async () => {
    const { user, sessionToken, createdId } = await person()
    const stays = await watchInbox(service, sessionToken)
    const leaving = await signIn(service, user)
    const ends = await watchInbox(service, leaving)
    await send(service, '/api/v1/me/sessions/end-others', { method: 'POST', token: sessionToken })
    expect(await ends.rest()).toEqual([over])
    await createdId()
    expect(await stays.next()).toEqual({ event: 'changed', data: {} })
    stays.close()
  })

  it('T67: shutdown tells every reader to come back, quickly', async () => {
    const stopping = await startService({ database: service.composition.connection.name })
    const { user } = await person()
    const tokens = await Promise.all(Array.from({ length: 5 }, () => signIn(stopping, user)))
    const streams = await Promise.all(tokens.map((token) => watchInbox(stopping, token)))
    const stop = startStopwatch(service)
    const closed = stopping.close()
    for (const stream of streams) expect(await stream.rest()).toEqual([{ event: 'shutdown', data: {} }])
    await closed
    expect(stop()).toBeLessThan(2_000)
  })

  it('outlives a store that does not answer, and tells of what changed meanwhile', async () => {
    const { sessionToken, createdId } = await person()
    const stream = await watchInbox(service, sessionToken)
    const { sessions } = service.composition.deps
    const { liveAmong } = sessions
    try {
      sessions.liveAmong = () => Promise.reject(new Error('no store'))
      await createdId()
      await expect
        .poll(() => service.logged.some(({ message }) => message.includes('changes of inboxes failed')))
        .toBe(true)
    } finally {
      sessions.liveAmong = liveAmong
    }
    expect(await stream.next()).toEqual({ event: 'changed', data: {} })
    stream.close()
  })
})

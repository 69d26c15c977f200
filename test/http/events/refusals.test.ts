import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { alter, newCaller, send, signIn, type TestCaller } from '../../support/caller.ts'
import { type EventSourceClient, openEvents } from '../../support/event-source.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { startWaits } from '../../support/waiting.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const refusedKey = {
  event: 'error',
  data: { error: 'invalid or missing API key', message: expect.any(String), status: 401 },
}

/** Streams of one request, each read up to where it waits. */
async function openMany(
  on: TestService,
  caller: TestCaller,
  id: string,
  count: number,
): Promise<EventSourceClient[]> {
  const starts = Array.from({ length: count }, () => () => openEvents(caller, on.url, id))
  const streams = await Promise.all(await startWaits(on, starts))
  for (const stream of streams) {
    await stream.next()
    expect(await stream.next()).toMatchObject({ event: 'status', data: { id, status: 'pending' } })
  }
  return streams
}

describe('before the stream', () => {
  it('401: nobody without a key, nor a person who is signed in', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    for (const token of [undefined, await signIn(service, caller.user)]) {
      const answer = await send(
        service,
        `/api/v1/approvals/${id}/events`,
        token === undefined ? {} : { token },
      )
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
    }
  })

  it('403: no key without approval:read', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await alter(service, 'api_keys', caller.keyId, { scopes: ['approval:create', 'approval:verify'] })
    const answer = await caller.send(`/api/v1/approvals/${id}/events`)
    expect([answer.status, answer.body.error, answer.body.scope]).toEqual([
      403,
      'insufficient_scope',
      'approval:read',
    ])
  })

  it('T55, 404: unknown, malformed and foreign requests alike', async () => {
    const owner = await newCaller(service)
    const id = await owner.createdId()
    const stranger = await newCaller(service, { user: owner.user })
    for (const asked of [id, 'req_00000000000000000000000000', 'x', '%00']) {
      const answer = await stranger.send(`/api/v1/approvals/${asked}/events`)
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
  })

  it('T67, 429: the 11th of a key, waits and streams together, until one of them is gone', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const streams = await openMany(service, caller, id, 9)
    const [wait] = await startWaits(service, [() => caller.send(`/api/v1/approvals/${id}/wait?timeout=60`)])
    const path = `/api/v1/approvals/${id}/events`
    const refused = await caller.send(path)
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({ error: 'too_many_waits', message: expect.any(String), retry_after: 3 })
    expect(refused.headers.get('retry-after')).toBe('3')
    expect((await caller.send(`/api/v1/approvals/${id}/wait?timeout=1`)).status).toBe(429)
    streams[0]?.close()
    const again = async () => {
      const stream = await openEvents(caller, service.url, id)
      if (stream.status === 200) streams.push(stream)
      return stream.status
    }
    await expect.poll(again).toBe(200)
    await caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' })
    expect(await wait).toMatchObject({ status: 200, body: { cancelled: true } })
    for (const stream of streams.slice(1))
      expect((await stream.rest()).at(-1)).toMatchObject({ data: { cancelled: true } })
    expect((await caller.send(path)).status).toBe(200)
  })
})

describe('during the stream', () => {
  it('T54: revoking the key ends it with the refusal, within a second', async () => {
    const caller = await newCaller(service)
    const streams = await openMany(service, caller, await caller.createdId(), 2)
    await revokeApiKey(service.composition.deps, caller.keyId, caller.user.account_id, { kind: 'cli' })
    const stop = startStopwatch(service)
    for (const stream of streams) expect(await stream.rest()).toEqual([refusedKey])
    expect(stop()).toBeLessThan(1_000)
  })

  it('T54: also when another process revoked it', async () => {
    const caller = await newCaller(service)
    const streams = await openMany(service, caller, await caller.createdId(), 1)
    await alter(service, 'api_keys', caller.keyId, { revoked_at: new Date() })
    const stop = startStopwatch(service)
    for (const stream of streams) expect(await stream.rest()).toEqual([refusedKey])
    expect(stop()).toBeLessThan(1_000)
  })

  it('T54: a decision made after the revocation is not told', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const [stream] = await openMany(service, caller, id, 1)
    await alter(service, 'api_keys', caller.keyId, { revoked_at: new Date() })
    await alter(service, 'requests', id, { status: 'expired', version: 2, moved_at: new Date() })
    expect(await stream?.rest()).toEqual([refusedKey])
  })

  it('T67: shutdown tells every reader to come back, quickly', async () => {
    const stopping = await startService({ database: service.composition.connection.name })
    const caller = await newCaller(stopping)
    const streams = await openMany(stopping, caller, await caller.createdId(), 5)
    const stop = startStopwatch(service)
    const closed = stopping.close()
    for (const stream of streams) expect(await stream.rest()).toEqual([{ event: 'shutdown', data: {} }])
    await closed
    expect(stop()).toBeLessThan(2_000)
  })

  it('a store that fails ends it with the error, and the reason goes to the log alone', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const [stream] = await openMany(service, caller, id, 1)
    const { requests } = service.composition.deps
    const { findMany } = requests
    try {
      requests.findMany = () => Promise.reject(new Error('secret detail'))
      await alter(service, 'requests', id, { version: 2, moved_at: new Date() })
      const data = { error: 'internal_error', message: expect.any(String), status: 500 }
      expect(await stream?.rest()).toEqual([{ event: 'error', data }])
    } finally {
      requests.findMany = findMany
    }
    expect(service.logged).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'event stream failed' }),
    )
  })
})

import mongoose from 'mongoose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { alter, lapse, makeDue, newCaller, send, signIn, type TestCaller } from '../../support/caller.ts'
import { type EventSourceClient, openStream } from '../../support/event-source.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const PATH = '/api/v1/approvals/events'

async function open(caller: TestCaller, on = service, headers = {}): Promise<EventSourceClient> {
  const stream = await openStream(`${on.url}${PATH}`, { authorization: `Bearer ${caller.token}`, ...headers })
  if (stream.status === 200) expect(await stream.next()).toEqual({ retry: '3000' })
  return stream
}

/** Opens a stream and reads it up to `listed`. @returns what stood before that */
async function openListed(caller: TestCaller, on = service) {
  const stream = await open(caller, on)
  const before: string[] = []
  for (;;) {
    const event = await stream.next()
    if (event?.event !== 'status') {
      expect(event).toEqual({ event: 'listed', data: {} })
      return { stream, before }
    }
    before.push(`${event.data?.id} ${event.data?.status}`)
  }
}

/** Opens a stream on a request that expires in `ms`; in more where it had expired before the stream began. */
async function openOnLapsing(ms: number): Promise<{ stream: EventSourceClient; id: string }> {
  const caller = await newCaller(service)
  const id = await caller.createdId()
  await alter(service, 'requests', id, { expires_at: new Date(Date.now() + ms) })
  const { stream, before } = await openListed(caller)
  if (before.includes(`${id} pending`)) return { stream, id }
  stream.close()
  return openOnLapsing(2 * ms)
}

const act = (caller: TestCaller, id: string, what: string, on = service) =>
  send(on, `/api/v1/approvals/${id}/${what}`, { method: 'POST', token: caller.token })

const elsewhere = () => useService({ database: service.composition.connection.name })

describe('the stream of all requests of a key', () => {
  it('begins with the pending ones, then sends each that is made, decided, used, withdrawn or expires', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const slow = { sandbox_auto_decide_seconds: 300 }
    const [one, two] = [await caller.createdId(slow), await caller.createdId(slow)]
    const { stream, before } = await openListed(caller)
    expect(before).toEqual([`${one} pending`, `${two} pending`])
    const three = await caller.createdId({ ...slow, context: { a: 1 } })
    expect(await stream.next()).toEqual({ event: 'status', data: (await caller.read(three)).body })
    await act(caller, two, 'cancel')
    expect(await stream.next()).toMatchObject({ data: { id: two, status: 'expired', cancelled: true } })
    await makeDue(service, one)
    await caller.read(one)
    expect(await stream.next()).toMatchObject({ data: { id: one, status: 'approved' } })
    await act(caller, one, 'consume')
    expect(await stream.next()).toMatchObject({ data: { id: one, consumed_at: expect.any(String) } })
    await lapse(service, three)
    await caller.read(three)
    expect(await stream.next()).toMatchObject({ data: { id: three, status: 'expired' } })
    stream.close()
  })

  it('sends expiry and a sandbox decision when they are due, though nobody else looks', async () => {
    const dry = await newCaller(service, { sandbox: true })
    const { stream: decided } = await openListed(dry)
    const due = await dry.createdId({ sandbox_auto_decide_seconds: 1 })
    const { stream: expired, id } = await openOnLapsing(500)
    expect(await expired.next()).toMatchObject({ data: { id, status: 'expired' } })
    const told: unknown[] = []
    while (told.at(-1) !== 'approved') {
      const { data } = (await decided.next()) ?? expect.unreachable('the stream ended')
      expect(data?.id).toBe(due)
      told.push(data?.status)
    }
    // On a slow machine the second is over before the stream looks.
    expect([['pending', 'approved'], ['approved']]).toContainEqual(told)
    expired.close()
    decided.close()
  })

  it('hears of other processes, not of other keys, and not of a mere reminder', async () => {
    const caller = await newCaller(service)
    const other = await newCaller(service, { user: caller.user })
    const second = await elsewhere()
    const { stream } = await openListed(caller)
    await other.createdId()
    const init = { method: 'POST', token: caller.token, json: { action: 'Elsewhere' } }
    const { id } = (await send(second, '/api/v1/approvals/request', init)).body
    expect(await stream.next()).toMatchObject({ data: { id, status: 'pending' } })
    await act(caller, String(id), 'remind', second)
    await act(caller, String(id), 'cancel', second)
    expect(await stream.next()).toMatchObject({ data: { id, status: 'expired' } })
    stream.close()
  })

  it('loses none of many that two processes make and close while it opens', async () => {
    const caller = await newCaller(service)
    const second = await elsewhere()
    const make = async (n: number): Promise<string> => {
      const on = n % 2 === 0 ? service : second
      const init = { method: 'POST', token: caller.token, json: { action: `Race ${n}` } }
      const id = String((await send(on, '/api/v1/approvals/request', init)).body.id)
      await act(caller, id, 'cancel', n % 3 === 0 ? service : second)
      return id
    }
    const made = Promise.all(Array.from({ length: 40 }, (_, n) => make(n)))
    const stream = await open(caller)
    const ids = new Set(await made)
    while (ids.size > 0) {
      const { data } = (await stream.next()) ?? expect.unreachable('the stream ended')
      if (data?.status === 'expired') ids.delete(String(data.id))
    }
    stream.close()
  })

  it('T67: counts as one wait, and leaves no watch behind on any way out', async () => {
    const caller = await newCaller(service)
    const { keyChanges } = service.composition.deps
    const { watch } = keyChanges
    let watched = 0
    keyChanges.watch = (keyId) => {
      const opened = watch(keyId)
      watched += 1
      const close = (): void => {
        watched -= 1
        opened.close()
      }
      return { ...opened, close }
    }
    try {
      const streams = await Promise.all(Array.from({ length: 10 }, () => openListed(caller)))
      expect(watched).toBe(10)
      const refused = await caller.send(PATH)
      expect(refused).toMatchObject({ status: 429, body: { error: 'too_many_waits', retry_after: 3 } })
      for (const { stream } of streams) stream.close()
      await expect.poll(() => watched).toBe(0)
      await expect.poll(async () => (await caller.send(PATH, { method: 'HEAD' })).status).toBe(200)
      await expect.poll(() => watched).toBe(0)
    } finally {
      keyChanges.watch = watch
    }
  })

  it('outlives a store that is away for a moment, and is refused while it is away from the start', async () => {
    const caller = await newCaller(service)
    const { stream } = await openListed(caller)
    const { requests } = service.composition.deps
    const { findMany, pendingOf } = requests
    const away = () => Promise.reject(new mongoose.mongo.MongoNetworkError('away'))
    const asked = new Promise<void>((resolve) => {
      requests.findMany = () => {
        resolve()
        return away()
      }
    })
    requests.pendingOf = away
    try {
      expect(await caller.send(PATH)).toMatchObject({ status: 503, body: { error: 'storage_unavailable' } })
      void caller.createdId()
      await asked
    } finally {
      Object.assign(requests, { findMany, pendingOf })
    }
    expect(await stream.next()).toMatchObject({ event: 'status', data: { status: 'pending' } })
    stream.close()
  })

  it('T54: revoking the key ends it with the refusal, whichever process did it', async () => {
    for (const revoke of [
      ({ keyId, user }: TestCaller) =>
        revokeApiKey(service.composition.deps, keyId, user.account_id, { kind: 'cli' }),
      ({ keyId }: TestCaller) => alter(service, 'api_keys', keyId, { revoked_at: new Date() }),
    ]) {
      const caller = await newCaller(service)
      const { stream } = await openListed(caller)
      await revoke(caller)
      const data = { error: 'invalid or missing API key', message: expect.any(String), status: 401 }
      expect(await stream.rest()).toEqual([{ event: 'error', data }])
    }
  })

  it('T67: shutdown tells the reader to come back', async () => {
    const stopping = await startService({ database: service.composition.connection.name })
    const caller = await newCaller(stopping)
    const { stream } = await openListed(caller, stopping)
    const closed = stopping.close()
    expect(await stream.rest()).toEqual([{ event: 'shutdown', data: {} }])
    await closed
  })

  it('begins anew for who comes back, whatever `Last-Event-ID` says', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const stream = await open(caller, service, { 'Last-Event-ID': '1' })
    expect(await stream.next()).toMatchObject({ event: 'status', data: { id } })
    expect(await stream.next()).toMatchObject({ event: 'listed' })
    stream.close()
  })

  it('401, 403, 400: for keys with approval:read alone, and without parameters', async () => {
    const caller = await newCaller(service, { scopes: ['approval:create'] })
    expect(await caller.send(PATH)).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } })
    const token = await signIn(service, caller.user)
    expect(await send(service, PATH, { token })).toMatchObject({
      status: 401,
      body: { error: 'invalid or missing API key' },
    })
    const reader = await newCaller(service)
    expect(await reader.send(`${PATH}?ids=x`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_field', field: 'ids' },
    })
  })
})

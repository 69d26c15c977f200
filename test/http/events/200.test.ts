import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, decidedId, makeDue, newCaller, type TestCaller } from '../../support/caller.ts'
import { openEvents } from '../../support/event-source.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startWaits } from '../../support/waiting.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const open = (caller: TestCaller, id: string, headers: Record<string, string> = {}) =>
  openEvents(caller, service.url, id, headers)

/** Opens a stream of a pending request, reads its beginning and returns once it waits. */
async function opened(caller: TestCaller, id: string) {
  const [stream] = await startWaits(service, [() => open(caller, id)])
  const events = await stream
  if (events === undefined) throw new Error('no stream')
  expect(await events.next()).toEqual({ retry: '3000' })
  expect(await events.next()).toEqual({ event: 'status', id: '1', data: (await caller.read(id)).body })
  return events
}

const cancel = (caller: TestCaller, id: string) =>
  caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' })

describe('a stream', () => {
  it('is an event stream that neither caches nor proxies keep, and counts once as a read', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const events = await open(caller, id)
    expect(events.status).toBe(200)
    expect(events.headers.get('content-type')).toBe('text/event-stream')
    expect(events.headers.get('cache-control')).toBe('no-store')
    expect(events.headers.get('x-accel-buffering')).toBe('no')
    expect(events.headers.get('x-ratelimit-limit')).toBe('120')
    expect((await caller.read(id)).headers.get('x-ratelimit-remaining')).toBe('118')
    events.close()
  })

  it('sends the state as it is, then what was decided the moment it is, and ends', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId({ context: { text: 'two\nlines\r\n\r\ndata: forged' } })
    const events = await opened(caller, id)
    await makeDue(service, id)
    const decided = (await caller.read(id)).body
    expect(decided).toMatchObject({ status: 'approved', sandbox: true })
    expect(await events.rest()).toEqual([{ event: 'status', id: '2', data: decided }])
  })

  it('sends nothing for a write that nobody sees: a reminder', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const events = await opened(caller, id)
    await caller.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })
    const cancelled = await cancel(caller, id)
    expect(await events.rest()).toEqual([{ event: 'status', id: '3', data: cancelled.body }])
  })

  it('sends what another process wrote', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const events = await opened(caller, id)
    await alter(service, 'requests', id, { status: 'expired', version: 7 })
    expect(await events.rest()).toMatchObject([{ event: 'status', id: '7', data: { status: 'expired' } }])
  })

  it('sends the expiry when the time runs out, though nobody else looks', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await alter(service, 'requests', id, { expires_at: new Date(Date.now() + 500) })
    const events = await open(caller, id)
    const seen = await events.rest()
    expect(seen.at(-1)).toMatchObject({ event: 'status', id: '2', data: { id, status: 'expired' } })
  })

  it('makes a sandbox decision when it is due', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId({ sandbox_auto_decide_seconds: 1, sandbox_decision: 'rejected' })
    const [retry, ...seen] = await (await open(caller, id)).rest()
    expect(retry).toEqual({ retry: '3000' })
    const told = seen.map((event) => event.data?.status)
    // On a slow machine the second is over before the stream begins.
    expect([['pending', 'rejected'], ['rejected']]).toContainEqual(told)
    const made = await service.composition.deps.requests.find(id)
    const decidedAt = made?.decision?.decided_at.getTime() ?? Number.NaN
    expect(decidedAt - (made?.created_at.getTime() ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  it('of a request that is decided already sends that and ends', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    const data = (await caller.read(id)).body
    expect(await (await open(caller, id)).rest()).toEqual([
      { retry: '3000' },
      { event: 'status', id: '2', data },
    ])
  })

  it('answers HEAD without a stream', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const answer = await caller.send(`/api/v1/approvals/${id}/events`, { method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
  })
})

describe('coming back with Last-Event-ID', () => {
  it('204 with the final state: there is nothing to come back for', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    const again = await open(caller, id, { 'Last-Event-ID': '2' })
    expect([again.status, await again.rest()]).toEqual([204, []])
  })

  it.each(['1', '3', 'x', '02', '2.0', ''])(
    'sends the final state to whoever has another: %j',
    async (last) => {
      const caller = await newCaller(service, { sandbox: true })
      const id = await decidedId(service, caller)
      const again = await open(caller, id, { 'Last-Event-ID': last })
      expect((await again.rest()).at(-1)).toMatchObject({ event: 'status', id: '2' })
    },
  )

  it('shows a use of the approval that came after the final state', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    await caller.send(`/api/v1/approvals/${id}/consume`, { method: 'POST' })
    const again = await open(caller, id, { 'Last-Event-ID': '2' })
    const last = (await again.rest()).at(-1)
    expect(last).toMatchObject({ id: '3', data: { status: 'approved', consumed_at: expect.any(String) } })
    expect((await open(caller, id, { 'Last-Event-ID': '3' })).status).toBe(204)
  })

  it('goes on with a pending request', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const again = await open(caller, id, { 'Last-Event-ID': '1' })
    expect(again.status).toBe(200)
    await cancel(caller, id)
    expect((await again.rest()).at(-1)).toMatchObject({ id: '2', data: { cancelled: true } })
  })
})

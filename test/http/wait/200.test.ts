import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { createSlots } from '../../../src/http/slots.ts'
import { alter, decidedId, makeDue, newCaller, send, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { startWaits } from '../../support/waiting.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const wait = (caller: TestCaller, id: string, timeout = 30, signal?: AbortSignal) =>
  caller.send(`/api/v1/approvals/${id}/wait?timeout=${timeout}`, signal && { signal })

describe('200', () => {
  it('answers a decided request at once, as a read would', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    const stop = startStopwatch()
    const answer = await wait(caller, id, 60)
    expect(stop()).toBeLessThan(5_000)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual((await caller.read(id)).body)
  })

  it('answers the pending body when the time is over', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId({ context: { a: 1 } })
    const stop = startStopwatch()
    const started = performance.now()
    const answer = await wait(caller, id, 1)
    const [took, counted] = [performance.now() - started, stop()]
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id, status: 'pending', context: { a: 1 } })
    expect(took).toBeGreaterThan(950)
    expect(counted).toBeLessThan(5_000)
  })

  it('makes a sandbox decision that is due, the moment it is', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const due = await caller.createdId()
    await makeDue(service, due)
    expect((await wait(caller, due)).body).toMatchObject({ status: 'approved', sandbox: true })
    const soon = await caller.createdId({ sandbox_auto_decide_seconds: 1, sandbox_decision: 'rejected' })
    const stop = startStopwatch()
    expect((await wait(caller, soon)).body).toMatchObject({ status: 'rejected', sandbox: true })
    expect(stop()).toBeLessThan(5_000)
  })

  it('answers as expired the moment the time runs out', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await alter(service, 'requests', id, { expires_at: new Date(Date.now() + 500) })
    const stop = startStopwatch()
    expect((await wait(caller, id)).body).toMatchObject({ id, status: 'expired' })
    expect(stop()).toBeLessThan(5_000)
  })

  it('notices within a second what another process wrote', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const elsewhere = await useService({ database: service.composition.connection.name })
    const { requests } = service.composition.deps
    const { movedBetween } = requests
    onTestFinished(() => void Object.assign(requests, { movedBetween }))
    // The first look after a rest is at each request that is waited for; this one is to be found among what is new.
    const news = new Promise((resolve) => {
      requests.movedBetween = (...times) => movedBetween(...times).finally(() => resolve(undefined))
    })
    const [answer] = await startWaits(service, [() => wait(caller, id)])
    await news
    const path = `/api/v1/approvals/${id}/cancel`
    const cancelled = await send(elsewhere, path, { method: 'POST', token: caller.token })
    expect(cancelled.body).toMatchObject({ id, status: 'expired' })
    const stop = startStopwatch(service)
    expect(await answer).toMatchObject({ status: 200, body: { status: 'expired' } })
    expect(stop()).toBeLessThan(1_500)
  })

  it('does not answer a mere reminder', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const [answer] = await startWaits(service, [() => wait(caller, id, 1)])
    await caller.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })
    expect(await answer).toMatchObject({ status: 200, body: { status: 'pending' } })
  })

  it('counts once against the 120 reads', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const answer = await wait(caller, id, 1)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('120')
    expect((await caller.read(id)).headers.get('x-ratelimit-remaining')).toBe('118')
  })
})

describe('400', () => {
  it.each([
    '0',
    '61',
    '-1',
    '1.5',
    'ten',
    '',
    '1e9',
    '1e1',
    '0x10',
    '%205',
    '%2B5',
    '1&timeout=2',
    'Infinity',
    '%7B%22%24gt%22%3A0%7D',
  ])('refuses timeout=%s', async (timeout) => {
    const caller = await newCaller(service)
    const answer = await caller.send(
      `/api/v1/approvals/req_00000000000000000000000000/wait?timeout=${timeout}`,
    )
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'invalid_field', field: 'timeout' })
  })

  it('takes 60', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    expect((await wait(caller, id, 60)).status).toBe(200)
  })
})

describe('404', () => {
  it('T55: answers unknown and foreign requests at once and alike', async () => {
    const owner = await newCaller(service)
    const id = await owner.createdId()
    const stranger = await newCaller(service, { user: owner.user })
    for (const asked of [id, 'req_00000000000000000000000000', 'x']) {
      const answer = await wait(stranger, asked)
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
  })
})

describe('401', () => {
  it('T54: a key revoked during the wait ends it with 401 within a second', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const [answer] = await startWaits(service, [() => wait(caller, id)])
    await revokeApiKey(service.composition.deps, caller.keyId, caller.user.account_id, { kind: 'cli' })
    const stop = startStopwatch(service)
    expect(await answer).toMatchObject({ status: 401, body: { error: 'invalid or missing API key' } })
    expect(stop()).toBeLessThan(1_000)
  })

  it('T54: also when another process revoked it', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const [answer] = await startWaits(service, [() => wait(caller, id)])
    await alter(service, 'api_keys', caller.keyId, { revoked_at: new Date() })
    const stop = startStopwatch(service)
    expect(await answer).toMatchObject({ status: 401, body: { error: 'invalid or missing API key' } })
    expect(stop()).toBeLessThan(1_000)
  })
})

describe('429', () => {
  it('T67: refuses the 11th open wait of a key, and lets it in when another one has ended', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const gone = new AbortController()
    const starts = Array.from(
      { length: 10 },
      () => () => wait(caller, id, 30, gone.signal).catch(() => 'gone'),
    )
    const open = await startWaits(service, starts)
    const refused = await wait(caller, id)
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({ error: 'too_many_waits', message: expect.any(String), retry_after: 3 })
    expect(refused.headers.get('retry-after')).toBe('3')
    const other = await newCaller(service, { user: caller.user })
    expect((await wait(other, await other.createdId(), 1)).status).toBe(200)
    gone.abort()
    expect(await Promise.all(open)).toEqual(Array.from({ length: 10 }, () => 'gone'))
    await expect.poll(async () => (await wait(caller, id, 1)).status).toBe(200)
  })
})

describe('MAX_OPEN_WAITS', () => {
  it('T67: bounds the open waits of a process, whichever keys they are of', async () => {
    const small = await startService({
      database: service.composition.connection.name,
      env: { MAX_OPEN_WAITS: '2' },
    })
    onTestFinished(() => small.close())
    const callers = [await newCaller(small), await newCaller(small), await newCaller(small)]
    const gone = new AbortController()
    const asked = await Promise.all(
      callers.map(async ({ token, createdId }) => ({
        token,
        path: `/api/v1/approvals/${await createdId()}/wait?timeout=30`,
      })),
    )
    const starts = asked.slice(0, 2).map(
      ({ path, token }) =>
        () =>
          send(small, path, { token, signal: gone.signal }).catch(() => 'gone'),
    )
    const open = await startWaits(small, starts)
    const refused = await send(small, asked[2]?.path ?? '', { token: asked[2]?.token ?? '' })
    expect(refused).toMatchObject({ status: 429, body: { error: 'too_many_waits', retry_after: 3 } })
    gone.abort()
    expect(await Promise.all(open)).toEqual(['gone', 'gone'])
  })

  it('T67: an account that takes them all leaves a tenth more for accounts with few', async () => {
    const small = await startService({
      database: service.composition.connection.name,
      env: { MAX_OPEN_WAITS: '20' },
    })
    onTestFinished(() => small.close())
    const large = await newCaller(small)
    const gone = new AbortController()
    const waitOf = async ({ token, createdId }: TestCaller, timeout = 30) => {
      const path = `/api/v1/approvals/${await createdId()}/wait?timeout=${timeout}`
      return () => send(small, path, { token, signal: gone.signal }).catch(() => 'gone' as const)
    }
    const theirs = [large, await newCaller(small, { user: large.user })]
    const twenty = theirs.flatMap((caller) => Array.from({ length: 10 }, () => waitOf(caller)))
    await startWaits(small, await Promise.all(twenty))
    const more = await waitOf(await newCaller(small, { user: large.user }))
    expect(await more()).toMatchObject({ status: 429, body: { error: 'too_many_waits' } })
    const others = [await newCaller(small), await newCaller(small)]
    expect(await (await waitOf(others[0] ?? expect.unreachable(), 1))()).toMatchObject({ status: 200 })
    await startWaits(small, await Promise.all(others.map((other) => waitOf(other))))
    const last = await waitOf(await newCaller(small))
    expect(await last()).toMatchObject({ status: 429, body: { error: 'too_many_waits' } })
    gone.abort()
  })

  it('is told when very many wait and when few do again, not each time that the number moves about the limit', () => {
    const told: boolean[] = []
    const slots = createSlots({ each: 1, process: 3000 }, (many) => told.push(many))
    const take = (id: string) => slots.take({ id, account_id: 'acc_a' })
    const open = Array.from({ length: 1999 }, (_, n) => take(`key ${n}`))
    expect(told).toEqual([])
    for (let n = 0; n < 3; n += 1) take('one more')()
    expect(told).toEqual([true])
    for (const giveBack of open) giveBack()
    expect(told).toEqual([true, false])
  })
})

describe('shutdown', () => {
  it('T67: ends every wait with the pending body, quickly', async () => {
    const stopping = await startService({ database: service.composition.connection.name })
    const caller = await newCaller(stopping)
    const id = await caller.createdId()
    const path = `/api/v1/approvals/${id}/wait?timeout=60`
    const starts = Array.from({ length: 5 }, () => () => send(stopping, path, { token: caller.token }))
    const open = await startWaits(stopping, starts)
    const stop = startStopwatch(service)
    const closed = stopping.close()
    for (const answer of await Promise.all(open)) {
      expect(answer).toMatchObject({ status: 200, body: { id, status: 'pending' } })
    }
    await closed
    expect(stop()).toBeLessThan(2_000)
  })
})

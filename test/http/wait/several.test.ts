import mongoose from 'mongoose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { alter, decidedId, newCaller, send, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { startWaits } from '../../support/waiting.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const UNKNOWN = 'req_00000000000000000000000000'

const wait = (caller: TestCaller, ids: readonly string[], timeout = 60) =>
  caller.send(`/api/v1/approvals/wait?ids=${ids.join()}&timeout=${timeout}`)

const cancel = (caller: TestCaller, id: string) =>
  caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' })

function createdIds(caller: TestCaller, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => caller.createdId()))
}

function statesOf({ body }: { body: Record<string, unknown> }): string[] {
  const data = Array.isArray(body.data) ? body.data : []
  return data.map(({ id, status }) => `${id} ${status}`)
}

describe('waiting for several requests', () => {
  it('answers when the first of fifty closes, each as a read would, in the order asked', async () => {
    const caller = await newCaller(service)
    const ids = (await createdIds(caller, 50)).reverse()
    const [answer] = await startWaits(service, [() => wait(caller, ids)])
    const stop = startStopwatch(service)
    const [, , , closed = ''] = ids
    await cancel(caller, closed)
    const { status, body } = (await answer) ?? expect.unreachable()
    expect(stop()).toBeLessThan(5_000)
    expect(status).toBe(200)
    expect(statesOf({ body })).toEqual(ids.map((id) => `${id} ${id === closed ? 'expired' : 'pending'}`))
    const first = await caller.read(ids[0] ?? '')
    expect(body.data).toMatchObject([first.body, ...ids.slice(1).map((id) => ({ id }))])
  })

  it('answers at once when one is closed already, and at the time-out when none is', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const open = await caller.createdId({ sandbox_auto_decide_seconds: 300 })
    const closed = await decidedId(service, caller)
    const stop = startStopwatch()
    expect(statesOf(await wait(caller, [open, closed]))).toEqual([`${open} pending`, `${closed} approved`])
    expect(statesOf(await wait(caller, [open], 1))).toEqual([`${open} pending`])
    expect(stop()).toBeLessThan(10_000)
  })

  it('makes a sandbox decision the moment it is due, and lets the time of another run out', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const late = await caller.createdId({ sandbox_auto_decide_seconds: 300 })
    const soon = await caller.createdId({ sandbox_auto_decide_seconds: 1 })
    expect(statesOf(await wait(caller, [late, soon]))).toEqual([`${late} pending`, `${soon} approved`])
    const live = await newCaller(service)
    const [stays = '', lapses = ''] = await createdIds(live, 2)
    await alter(service, 'requests', lapses, { expires_at: new Date(Date.now() + 500) })
    expect(statesOf(await wait(live, [stays, lapses]))).toEqual([`${stays} pending`, `${lapses} expired`])
  })

  it('does not answer a mere reminder, and then still hears what another process wrote', async () => {
    const caller = await newCaller(service)
    const [one = '', two = ''] = await createdIds(caller, 2)
    const elsewhere = await useService({ database: service.composition.connection.name })
    const [answer] = await startWaits(service, [() => wait(caller, [one, two])])
    await caller.send(`/api/v1/approvals/${one}/remind`, { method: 'POST' })
    await send(elsewhere, `/api/v1/approvals/${two}/cancel`, { method: 'POST', token: caller.token })
    expect(statesOf((await answer) ?? expect.unreachable())).toEqual([`${one} pending`, `${two} expired`])
  })

  it('loses no close of many at the same moment: who waits again for the rest gets to the end', async () => {
    const caller = await newCaller(service)
    const ids = await createdIds(caller, 20)
    const [first] = await startWaits(service, [() => wait(caller, ids)])
    const closing = Promise.all(ids.map((id) => cancel(caller, id)))
    let answer = (await first) ?? expect.unreachable()
    let rounds = 1
    const open = () => statesOf(answer).flatMap((state) => /^(\S+) pending$/.exec(state)?.[1] ?? [])
    for (; open().length > 0; rounds += 1) answer = await wait(caller, open())
    expect(rounds).toBeLessThanOrEqual(ids.length)
    expect(new Set((await closing).map(({ status }) => status))).toEqual(new Set([200]))
  })

  it('takes one slot and one read, however many it waits for, and leaves nothing behind on any way out', async () => {
    const caller = await newCaller(service)
    const ids = await createdIds(caller, 12)
    const { changes } = service.composition.deps
    const { watch } = changes
    const open = new Set<object>()
    changes.watch = (...args) => {
      const opened = watch(...args)
      open.add(opened)
      const close = (): void => {
        open.delete(opened)
        opened.close()
      }
      return { ...opened, close }
    }
    try {
      const gone = new AbortController()
      const path = `/api/v1/approvals/wait?ids=${ids.join()}&timeout=60`
      const starts = Array.from(
        { length: 10 },
        () => () => caller.send(path, { signal: gone.signal }).catch(() => 'gone'),
      )
      const waits = await startWaits(service, starts)
      expect(open.size).toBe(10)
      const refused = await caller.send(path)
      expect(refused).toMatchObject({ status: 429, body: { error: 'too_many_waits', retry_after: 3 } })
      gone.abort()
      await Promise.all(waits)
      expect((await wait(caller, [ids[0] ?? '', UNKNOWN])).status).toBe(404)
      await expect.poll(() => open.size).toBe(0)
      const last = await wait(caller, ids, 1)
      expect([last.status, last.headers.get('x-ratelimit-remaining')]).toEqual([200, '107'])
      expect(open.size).toBe(0)
    } finally {
      changes.watch = watch
    }
  })

  it('outlives a store that is away for a moment', async () => {
    const caller = await newCaller(service)
    const [one = '', two = ''] = await createdIds(caller, 2)
    const { deps } = service.composition
    const { findMany } = deps.requests
    const [answer] = await startWaits(service, [() => wait(caller, [one, two])])
    const asked = new Promise<void>((resolve) => {
      deps.requests.findMany = () => {
        resolve()
        return Promise.reject(new mongoose.mongo.MongoNetworkError('away'))
      }
    })
    try {
      await alter(service, 'requests', one, { version: 2, moved_at: new Date() })
      await asked
    } finally {
      deps.requests.findMany = findMany
    }
    await cancel(caller, two)
    expect(statesOf((await answer) ?? expect.unreachable())).toEqual([`${one} pending`, `${two} expired`])
  })

  it('T67: shutdown ends it with the pending requests', async () => {
    const stopping = await startService({ database: service.composition.connection.name })
    const caller = await newCaller(stopping)
    const ids = await createdIds(caller, 3)
    const [answer] = await startWaits(stopping, [() => wait(caller, ids)])
    await stopping.close()
    expect(statesOf((await answer) ?? expect.unreachable())).toEqual(ids.map((id) => `${id} pending`))
  })
})

describe('refusals', () => {
  it.each([
    ['', { error: 'ids required', field: 'ids' }],
    ['ids=', { error: 'invalid_field', field: 'ids' }],
    [`ids=${UNKNOWN},`, { error: 'invalid_field', field: 'ids' }],
    [`ids=${UNKNOWN},${UNKNOWN}`, { error: 'invalid_field', field: 'ids' }],
    [`ids=${UNKNOWN}&ids=x`, { error: 'invalid_field', field: 'ids' }],
    [
      `ids=${Array.from({ length: 51 }, (_, n) => `req_${String(n).padStart(26, '0')}`)}`,
      { error: 'invalid_field', field: 'ids' },
    ],
    [`ids=${UNKNOWN}&timeout=61`, { error: 'invalid_field', field: 'timeout' }],
    [`id=${UNKNOWN}`, { error: 'invalid_field', field: 'id' }],
  ])('400: ?%s', async (query, refused) => {
    const caller = await newCaller(service)
    expect(await caller.send(`/api/v1/approvals/wait?${query}`)).toMatchObject({ status: 400, body: refused })
  })

  it('T55, 404: one unknown, malformed or foreign id among them, alike and without its name', async () => {
    const caller = await newCaller(service)
    const mine = await caller.createdId()
    const theirs = await (await newCaller(service, { user: caller.user })).createdId()
    for (const other of [theirs, UNKNOWN, 'x', '%00']) {
      const answer = await wait(caller, [mine, other])
      expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } })
      expect(answer.text).not.toContain('req_')
    }
  })

  it('T54, 401: a key revoked meanwhile, by this process or another', async () => {
    for (const revoke of [
      ({ keyId, user }: TestCaller) =>
        revokeApiKey(service.composition.deps, keyId, user.account_id, { kind: 'cli' }),
      ({ keyId }: TestCaller) => alter(service, 'api_keys', keyId, { revoked_at: new Date() }),
    ]) {
      const caller = await newCaller(service)
      const ids = await createdIds(caller, 2)
      const [answer] = await startWaits(service, [() => wait(caller, ids)])
      await revoke(caller)
      expect(await answer).toMatchObject({ status: 401, body: { error: 'invalid or missing API key' } })
    }
  })

  it('403: no key without approval:read', async () => {
    const caller = await newCaller(service, { scopes: ['approval:create'] })
    const answer = await wait(caller, [UNKNOWN])
    expect(answer).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } })
  })
})

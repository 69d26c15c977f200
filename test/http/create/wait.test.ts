import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { WAITS_EACH } from '../../../src/http/slots.ts'
import { callerWith, newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import { startWaits } from '../../support/waiting.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const BODY = { action: 'Deploy', context: { version: '4.2' } }

const create = (caller: TestCaller, wait: unknown, key?: string, signal?: AbortSignal) =>
  caller.send(`/api/v1/approvals/request?wait=${wait}`, {
    method: 'POST',
    json: BODY,
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    ...(signal && { signal }),
  })

async function live(): Promise<TestCaller> {
  const user = await service.composition.deps.users.find(setting.owner.userId)
  return newCaller(service, { user: user ?? expect.unreachable() })
}

const requestsOf = ({ keyId }: TestCaller) =>
  stored(service, 'requests').find({ api_key_id: keyId }).toArray()
const decide = async (id: unknown) =>
  expect((await decideByPasskey(setting, String(id), 'approved')).status).toBe(200)

describe('a request that is made and waited for in one call', () => {
  it('is answered once decided, as without `wait`, and as a read would', async () => {
    const caller = await live()
    const [answer] = await startWaits(service, [() => create(caller, 60)])
    const [made] = await requestsOf(caller)
    await decide(made?._id)
    const { status, body } = (await answer) ?? expect.unreachable()
    const { approval, ...created } = body
    expect(status).toBe(201)
    expect(approval).toMatchObject({ status: 'approved', decision: { signature: expect.any(String) } })
    expect(approval).toEqual((await caller.read(String(made?._id))).body)
    const plain = await caller.create(BODY)
    expect(Object.keys(created)).toEqual(Object.keys(plain.body))
    expect(created).toMatchObject({ id: made?._id, status: 'pending', metadata: BODY.context })
    // As any create, it counts once against the limit of creates.
    expect(plain.headers.get('x-ratelimit-remaining')).toBe('58')
  })

  it('is answered as pending when the time is over', async () => {
    const caller = await newCaller(service)
    const started = performance.now()
    const { status, body } = await create(caller, 1)
    expect(performance.now() - started).toBeGreaterThan(950)
    expect(status).toBe(201)
    expect(body).toMatchObject({ status: 'pending', approval: { id: body.id, status: 'pending' } })
  })

  it('is answered the moment a sandbox decision is due, in the fields of a sandbox key', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const path = '/api/v1/approvals/request?wait=30'
    const json = { ...BODY, sandbox_auto_decide_seconds: 1 }
    const { body } = await caller.send(path, { method: 'POST', json })
    const approval = { id: body.request_id, status: 'approved', sandbox: true }
    expect(body).toMatchObject({ status: 'pending', sandbox: true, approval })
  })

  it('waits again when its answer was lost, at this process and at another one, and is made once', async () => {
    const caller = await live()
    const other = await useService({ database: service.composition.connection.name })
    const gone = new AbortController()
    const lost = await startWaits(service, [
      () => create(caller, 60, 'k', gone.signal).catch(() => 'gone' as const),
    ])
    gone.abort()
    expect(await lost[0]).toBe('gone')
    const elsewhere = await startWaits(other, [
      () => create(callerWith(other, caller.user, caller.token, caller.keyId), 60, 'k'),
    ])
    const here = await startWaits(service, [() => create(caller, 60, 'k')])
    const [made, ...more] = await requestsOf(caller)
    expect(more).toEqual([])
    await decide(made?._id)
    for (const answer of [...here, ...elsewhere]) {
      const { status, headers, body } = await answer
      expect([status, headers.get('idempotency-replayed')]).toEqual([201, 'true'])
      expect(body).toMatchObject({ id: made?._id, status: 'pending', approval: { status: 'approved' } })
    }
    const late = await create(caller, 60, 'k')
    expect(late.body).toMatchObject({ id: made?._id, approval: { status: 'approved' } })
  })

  it('without a free place for a wait is made all the same, and answered at once', async () => {
    const caller = await newCaller(service)
    const gone = new AbortController()
    const open = await startWaits(
      service,
      Array.from(
        { length: WAITS_EACH },
        () => () => create(caller, 60, undefined, gone.signal).catch(() => 'gone'),
      ),
    )
    const stop = startStopwatch(service)
    const { status, body } = await create(caller, 60)
    expect(stop()).toBeLessThan(5_000)
    expect(status).toBe(201)
    expect(body).toMatchObject({ approval: { id: body.id, status: 'pending' } })
    const wait = await caller.send(`/api/v1/approvals/${body.id}/wait?timeout=1`)
    expect(wait).toMatchObject({ status: 429, body: { error: 'too_many_waits' } })
    gone.abort()
    expect(await Promise.all(open)).toEqual(open.map(() => 'gone'))
    // Whoever left gave the place back.
    await waitUntil(async () =>
      expect((await caller.send(`/api/v1/approvals/${body.id}/wait?timeout=1`)).status).toBe(200),
    )
  })

  it('is answered as pending by a service that stops', async () => {
    const stopping = await useService({ database: service.composition.connection.name })
    const caller = await newCaller(stopping)
    const [answer] = await startWaits(stopping, [() => create(caller, 60)])
    await stopping.close()
    expect(await answer).toMatchObject({ status: 201, body: { approval: { status: 'pending' } } })
  })

  it('keeps its answer when the store is away after it was made', async () => {
    const caller = await newCaller(service)
    const { requests } = service.composition.deps
    const { find } = requests
    requests.find = () => Promise.reject(Object.assign(new Error('away'), { name: 'MongoNetworkError' }))
    const { status, body } = await create(caller, 60).finally(() => Object.assign(requests, { find }))
    expect(status).toBe(201)
    expect(body).toMatchObject({ id: expect.any(String), status: 'pending' })
    expect(body).not.toHaveProperty('approval')
  })

  it('T54: ends with 401 when its key is revoked meanwhile', async () => {
    const caller = await newCaller(service)
    const [answer] = await startWaits(service, [() => create(caller, 60)])
    await revokeApiKey(service.composition.deps, caller.keyId, caller.user.account_id, { kind: 'cli' })
    expect(await answer).toMatchObject({ status: 401, body: { error: 'invalid or missing API key' } })
  })

  it.each(['0', '61', '1.5', 'soon', '', '1&wait=2'])('refuses wait=%s, and makes nothing', async (wait) => {
    const caller = await newCaller(service)
    expect(await create(caller, wait)).toMatchObject({
      status: 400,
      body: { error: 'invalid_field', field: 'wait' },
    })
    expect(await requestsOf(caller)).toEqual([])
  })

  it('refuses a key that may not read, and makes nothing', async () => {
    const caller = await newCaller(service, { scopes: ['approval:create'] })
    expect(await create(caller, 1)).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope', scope: 'approval:read' },
    })
    expect(await requestsOf(caller)).toEqual([])
  })
})

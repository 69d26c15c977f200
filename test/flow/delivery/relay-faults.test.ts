import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FlowDeps } from '../../../src/flow/deps.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import type { AuditTrail } from '../../../src/ports/ports.ts'
import { newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { clockOf } from '../../support/clock.ts'
import { startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner } from '../../support/webhook-owner.ts'

let service: TestService
let caller: TestCaller
beforeAll(async () => {
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  caller = await newCaller(service, { sandbox: true })
})
afterAll(() => service.close())
beforeEach(async () => {
  for (const name of ['audit_log', 'deliveries', 'requests', 'audit_inbox'])
    await stored(service, name).deleteMany({})
})

const count = (name: string, filter = {}) => stored(service, name).countDocuments(filter)
const waiting = () => count('requests', { outbox_token: { $exists: true } })

/** Decided requests with a callback, as the deciding write leaves them. */
async function decided(n: number): Promise<string[]> {
  const fields = { callback_url: 'http://127.0.0.1:9/in', sandbox_auto_decide_seconds: 0 }
  const ids: string[] = []
  for (let made = 0; made < n; made += 1) {
    const id = await caller.createdId(fields)
    await caller.read(id)
    ids.push(id)
  }
  return ids
}

/** The same request many times over, so that several pages wait. */
async function manyDecided(n: number): Promise<void> {
  const [id] = await decided(1)
  const requests = stored(service, 'requests')
  const { _id, callback, outbox_token, ...rest } =
    (await requests.findOne({ _id: String(id) })) ?? expect.unreachable()
  const copies = Array.from({ length: n - 1 }, (_, copy) => ({
    ...rest,
    _id: `req_${String(copy).padStart(26, '0')}`,
    outbox_token: `evt_${String(copy).padStart(26, '0')}`,
    audit: [{ ...Object([rest.audit].flat()[0]), eid: `evt_${String(copy).padStart(26, '0')}` }],
    outbox: [],
    callback: { ...Object(callback), event_id: `evt_c${copy}`, delivery_id: `dlv_${copy}` },
  }))
  await requests.insertMany(copies)
}

function relayWith(change: Partial<FlowDeps> = {}) {
  return createRelay({ ...service.composition.deps, ...change }, NO_LOOPS)
}

it('hands no webhook an event from before it was made, however late the event is carried on', async () => {
  const owner = await newWebhookOwner(service)
  const events = ['approval.created']
  // A webhook must listen: otherwise nothing is kept for the relay.
  const before = await owner.made('http://127.0.0.1:9/before', events)
  const asking = await newCaller(service, { user: owner.user })
  const early = await asking.createdId()
  const after = await owner.made('http://127.0.0.1:9/after', events)
  const late = await asking.createdId()
  await relayWith().run()
  const deliveries = await stored(service, 'deliveries').find().toArray()
  const told = deliveries.map((one) => [Object(one.target).webhook_id, one.request_id]).sort()
  expect(told).toEqual(
    [
      [before.id, early],
      [before.id, late],
      [after.id, late],
    ].sort(),
  )
})

describe('B2: what cannot be carried on stands in nobody’s way', () => {
  it('hands every callback over although the trail takes nothing, and catches up on the entries later', async () => {
    await manyDecided(250)
    const trail: AuditTrail = {
      ...service.composition.deps.trail,
      insert: () => Promise.reject(new Error('full')),
    }
    await expect(relayWith({ trail }).run()).rejects.toThrow('full')
    expect(await count('deliveries')).toBe(250)
    expect(await waiting()).toBe(250)
    await relayWith().run()
    expect([await waiting(), await count('deliveries')]).toEqual([0, 250])
    expect(await count('audit_log', { 'entry.type': 'approval.approved' })).toBe(1)
  })

  it('looks again, with whatever is told next, at what it could not carry on', async () => {
    await decided(1)
    let full = true
    const { trail } = service.composition.deps
    const insert: AuditTrail['insert'] = (records) =>
      full ? Promise.reject(new Error('full')) : trail.insert(records)
    const relay = relayWith({ trail: { ...trail, insert } })
    await expect(relay.run()).rejects.toThrow('full')
    full = false
    relay.wake({ outboxOf: 'users', document: {} })
    await expect.poll(waiting).toBe(0)
  })

  it('sweeps requests every time, and each other collection in one of four turns', async () => {
    const looked: string[] = []
    const { outbox } = service.composition.deps
    const noting = outbox.map((source) => ({
      ...source,
      due: (limit: number, after?: string) => {
        looked.push(source.name)
        return source.due(limit, after)
      },
    }))
    let now = Date.now()
    const relay = relayWith({ outbox: noting, clock: clockOf(() => now) })
    const [requests = '', ...others] = outbox.map(({ name }) => name)
    for (let turn = 0; turn < 4; turn += 1) {
      relay.sweep()
      await expect.poll(() => looked.filter((name) => name === requests).length).toBe(turn + 1)
      now += 10_000
    }
    const wanted = [requests, requests, requests, requests, ...others].sort()
    await expect.poll(() => looked.toSorted()).toEqual(wanted)
    // One that comes late takes the turns that nothing took.
    looked.length = 0
    now += 30_000
    relay.sweep()
    await expect.poll(() => looked.toSorted()).toEqual([requests, ...others].sort())
  })

  it('leaves an outbox entry that makes no sense, tells which, and carries on all others of every collection', async () => {
    const [bad, good] = await decided(2)
    await stored(service, 'requests').updateOne({ _id: String(bad) }, { $unset: { 'audit.0.actor': 1 } })
    await service.composition.deps.audit.append({
      eid: 'evt_inbox',
      type: 'internal_token.used',
      at: new Date(),
      actor: { kind: 'service' },
      subject: 'usr_x',
    })
    await relayWith().run()
    expect(await count('requests', { _id: String(good), outbox_token: { $exists: true } })).toBe(0)
    expect(await count('audit_inbox')).toBe(0)
    expect(await count('deliveries')).toBe(2)
    expect(await count('requests', { _id: String(bad), outbox_token: { $exists: true } })).toBe(1)
    expect(service.logged).toContainEqual(
      expect.objectContaining({
        level: 'error',
        fields: expect.objectContaining({ id: bad, source: 'requests' }),
      }),
    )
  })

  it('links to no document that is not a record, says what to do, and still sends', async () => {
    await decided(1)
    await stored(service, 'audit_log').insertOne(Object({ _id: 1 }))
    await expect(relayWith().run()).rejects.toThrow('run: countersign audit check')
    expect(await count('deliveries')).toBe(1)
    expect(await count('audit_log')).toBe(1)
  })
})

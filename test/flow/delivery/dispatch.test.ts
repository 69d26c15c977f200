import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/webhook.ts'
import { createDispatcher, type Dispatcher } from '../../../src/flow/delivery/dispatch.ts'
import type { AttemptOutcome } from '../../../src/flow/delivery-ports.ts'
import { drawId } from '../../../src/flow/deps.ts'
import { newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { type TestService, useService } from '../../support/service.ts'

let service: TestService
let caller: TestCaller

beforeEach(async () => {
  service = await useService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  caller = await newCaller(service)
})

/** Callbacks that are due, `count` to each of these hosts. */
async function makeDue(hosts: string[], count: number): Promise<void> {
  const { deps } = service.composition
  const now = deps.clock.now()
  const one = (host: string): Delivery => ({
    id: drawId(deps, 'dlv'),
    account_id: caller.user.account_id,
    target: {
      kind: 'callback',
      request_id: `req_${randomBytes(8).toString('hex')}`,
      api_key_id: caller.keyId,
    },
    event_id: drawId(deps, 'evt'),
    event_type: 'callback',
    url: `http://${host}/`,
    host,
    body: '{}',
    state: 'due',
    next_at: now,
    tries: 0,
    claim: 0,
    attempts: [],
    created_at: now,
    outbox: [],
    audit: [],
  })
  await deps.deliveries.insertNew(hosts.flatMap((host) => Array.from({ length: count }, () => one(host))))
}

/** A dispatcher whose receivers take their time, and counts of what it does. */
function dispatcherWith(limits: { total: number; perHost: number }) {
  const { deps } = service.composition
  const open: { host: string; answer(): void }[] = []
  const sent: string[] = []
  const claims = { now: 0, peak: 0, made: 0 }
  const sender = {
    send: ({ url, eventId }: { url: string; eventId: string }) => {
      sent.push(eventId)
      return new Promise<AttemptOutcome>((resolve) =>
        open.push({
          host: new URL(url).host,
          answer: () => resolve({ outcome: 'http_200', duration_ms: 1 }),
        }),
      )
    },
    close: () => undefined,
  }
  const claim: typeof deps.deliveries.claim = async (query) => {
    claims.now += 1
    claims.made += 1
    claims.peak = Math.max(claims.peak, claims.now)
    try {
      return await deps.deliveries.claim(query)
    } finally {
      claims.now -= 1
    }
  }
  const deliveries = { ...deps.deliveries, claim }
  const wakeups = { at: () => expect.unreachable('nothing is to be retried') }
  const dispatcher: Dispatcher = createDispatcher({ ...deps, deliveries, sender }, wakeups, {
    ...limits,
    leaseMs: 60_000,
  })
  return { dispatcher, open, sent, claims }
}

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 20_000 })
const delivered = () => stored(service, 'deliveries').countDocuments({ state: 'delivered' })

describe('the dispatcher', () => {
  it('fills its limits and never exceeds them, in all and for each host', async () => {
    const hosts = ['one.test', 'two.test', 'three.test', 'four.test', 'five.test']
    await makeDue(hosts, 9)
    const { dispatcher, open, sent } = dispatcherWith({ total: 14, perHost: 3 })
    dispatcher.wake()
    let answered = 0
    while (answered < 45) {
      const left = 45 - answered
      // Full to the last slot while every host has at least two left, and then whatever there is.
      await eventually(() => open.length).toBeGreaterThanOrEqual(left >= 38 ? 14 : 1)
      expect(open.length).toBeLessThanOrEqual(14)
      for (const host of hosts) expect(open.filter((one) => one.host === host).length).toBeLessThanOrEqual(3)
      open.splice(left % open.length, 1)[0]?.answer()
      answered += 1
    }
    await eventually(delivered).toBe(45)
    await dispatcher.drain()
    expect(new Set(sent).size).toBe(45)
    expect(sent.length).toBe(45)
  })

  it('has several claims on their way while there is a backlog', async () => {
    const hosts = Array.from({ length: 16 }, (_, index) => `host-${index}.test`)
    await makeDue(hosts, 2)
    const { dispatcher, open, claims } = dispatcherWith({ total: 64, perHost: 4 })
    dispatcher.wake()
    await eventually(() => open.length).toBe(32)
    expect(claims.peak).toBeGreaterThan(1)
    expect(claims.peak).toBeLessThanOrEqual(4)
    for (const { answer } of open) answer()
    await dispatcher.drain()
    expect(await delivered()).toBe(32)
  })

  it('asks for a single delivery only until there is none', async () => {
    await makeDue(['one.test'], 1)
    const { dispatcher, open, claims } = dispatcherWith({ total: 64, perHost: 4 })
    dispatcher.wake()
    await eventually(() => open.length).toBe(1)
    await eventually(() => claims.now).toBe(0)
    expect(claims.made).toBe(2)
    open[0]?.answer()
    await dispatcher.drain()
    expect(await delivered()).toBe(1)
  })

  it('sends what a claim brings home while it is stopping, and nothing after it', async () => {
    await makeDue(['one.test', 'two.test'], 4)
    const { dispatcher, open, sent, claims } = dispatcherWith({ total: 64, perHost: 4 })
    dispatcher.wake()
    expect(claims.now).toBe(1)
    const drained = dispatcher.drain()
    await eventually(() => open.length).toBe(1)
    open[0]?.answer()
    await drained
    expect(sent.length).toBe(1)
    expect(await delivered()).toBe(1)
    expect(await stored(service, 'deliveries').countDocuments({ state: 'leased' })).toBe(0)
  })

  it('outlives a store that fails to claim', async () => {
    await makeDue(['one.test'], 1)
    const { deps } = service.composition
    const sent: string[] = []
    let failures = 1
    const deliveries = {
      ...deps.deliveries,
      claim: (query: Parameters<typeof deps.deliveries.claim>[0]) => {
        failures -= 1
        return failures >= 0 ? Promise.reject(new Error('no store')) : deps.deliveries.claim(query)
      },
    }
    const send = async ({ eventId }: { eventId: string }) => {
      sent.push(eventId)
      return { outcome: 'http_200', duration_ms: 1 } as const
    }
    const wakeups = { at: () => undefined }
    const parts = { ...deps, deliveries, sender: { send, close: () => undefined } }
    const dispatcher = createDispatcher(parts, wakeups, { total: 4, perHost: 2, leaseMs: 60_000 })
    dispatcher.wake()
    await eventually(() =>
      service.logged.some(({ message }) => message.startsWith('claiming deliveries failed')),
    ).toBe(true)
    dispatcher.wake()
    await eventually(delivered).toBe(1)
    await dispatcher.drain()
    expect(sent.length).toBe(1)
  })
})

import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { drawId } from '../../../src/domain/identifier.ts'
import type { Delivery } from '../../../src/domain/webhook.ts'
import type { SendLoop } from '../../../src/flow/queue/send-loop.ts'
import { createDeliveryLoop } from '../../../src/flow/webhooks/send-deliveries.ts'
import type { AttemptOutcome } from '../../../src/ports/ports.ts'
import { newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { sampleDelivery } from '../../support/sample-delivery.ts'
import { type TestService, useService } from '../../support/service.ts'

let service: TestService
let caller: TestCaller

beforeEach(async () => {
  service = await useService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  caller = await newCaller(service)
})

/** A callback that is due. */
function dueAt(host: string, account_id = caller.user.account_id): Delivery {
  const { deps } = service.composition
  return sampleDelivery({
    id: drawId(deps, 'dlv'),
    account_id,
    target: {
      kind: 'callback',
      request_id: `req_${randomBytes(8).toString('hex')}`,
      api_key_id: caller.keyId,
      secret_version: 1,
    },
    event_id: drawId(deps, 'evt'),
    url: `http://${host}/`,
    host,
    next_at: deps.clock.now(),
  })
}

/** Callbacks that are due, `count` to each of these hosts. */
async function makeDue(hosts: string[], count: number, account_id?: string): Promise<void> {
  const due = hosts.flatMap((host) => Array.from({ length: count }, () => dueAt(host, account_id)))
  await service.composition.deps.deliveries.insertNew(due)
}

/** A loop whose receivers take their time, and counts of what it does. `first` makes its first claim. */
type Limits = { total: number; perHost: number; perAccount?: number }
function loopWith(limits: Limits, first = service.composition.deps.deliveries.claim) {
  const { deps } = service.composition
  const open: { host: string; answer(closed?: Promise<void>): void }[] = []
  const sent: string[] = []
  const claims = { now: 0, peak: 0, made: 0 }
  const sender = {
    send: ({ url, eventId }: { url: string; eventId: string }) => {
      sent.push(eventId)
      return new Promise<AttemptOutcome>((resolve) =>
        open.push({
          host: new URL(url).host,
          answer: (closed) =>
            resolve({ outcome: 'http_200', duration_ms: 1, ...(closed !== undefined && { closed }) }),
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
      return await (claims.made === 1 ? first : deps.deliveries.claim)(query)
    } finally {
      claims.now -= 1
    }
  }
  const deliveries = { ...deps.deliveries, claim }
  const loop: SendLoop<Delivery> = createDeliveryLoop(
    { ...deps, deliveries, sender },
    {
      perAccount: limits.total,
      ...limits,
      leaseMs: 60_000,
    },
  )
  return { loop, open, sent, claims }
}

const eventually = <T>(read: () => T) => expect.poll(read)
const delivered = () => stored(service, 'deliveries').countDocuments({ state: 'delivered' })

describe('the loop of deliveries', () => {
  it('fills its limits and never exceeds them, in all and for each host', async () => {
    const hosts = ['one.test', 'two.test', 'three.test', 'four.test', 'five.test']
    await makeDue(hosts, 9)
    const { loop, open, sent } = loopWith({ total: 14, perHost: 3 })
    loop.wake()
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
    await loop.drain()
    expect(new Set(sent).size).toBe(45)
    expect(sent.length).toBe(45)
  })

  it('claims a backlog in few questions', async () => {
    const hosts = Array.from({ length: 16 }, (_, index) => `host-${index}.test`)
    await makeDue(hosts, 2)
    const { loop, open, claims } = loopWith({ total: 64, perHost: 4 })
    loop.wake()
    await eventually(() => open.length).toBe(32)
    expect(claims.made).toBe(1)
    for (const { answer } of open.splice(0)) answer()
    await loop.drain()
    expect(await delivered()).toBe(32)
  })

  it('asks once for a single delivery, and once more after it', async () => {
    await makeDue(['one.test'], 1)
    const { loop, open, claims } = loopWith({ total: 64, perHost: 4 })
    loop.wake()
    await eventually(() => open.length).toBe(1)
    await eventually(() => claims.now).toBe(0)
    expect(claims.made).toBe(1)
    open[0]?.answer()
    await eventually(() => claims.made).toBe(2)
    await loop.drain()
    expect(await delivered()).toBe(1)
  })

  it('leaves to others what it finds while it is stopping, and ends what it has', async () => {
    await makeDue(['one.test', 'two.test'], 4)
    const { loop, open, sent, claims } = loopWith({ total: 64, perHost: 2 })
    loop.wake()
    await eventually(() => open.length).toBe(4)
    await eventually(() => claims.now).toBe(0)
    loop.wake()
    expect(claims.now).toBe(1)
    const drained = loop.drain()
    for (const { answer } of open) answer()
    await drained
    expect(sent.length).toBe(4)
    expect(await delivered()).toBe(4)
    expect(await stored(service, 'deliveries').countDocuments({ state: 'leased' })).toBe(0)
  })

  it('sends at once what enters, as far as there is room, and asks for nothing', async () => {
    const { deps } = service.composition
    const { loop, open, sent, claims } = loopWith({ total: 3, perHost: 2 })
    const due = ['one.test', 'one.test', 'one.test', 'two.test'].map((host) => dueAt(host))
    await loop.enter(due.slice(0, 1), deps.deliveries.insertNew)
    await eventually(() => open.length).toBe(1)
    expect(await stored(service, 'deliveries').countDocuments({ state: 'leased', fence: 1 })).toBe(1)
    // Entered once more, by a relay that could not know: nothing is sent twice.
    await loop.enter(due.slice(0, 1), deps.deliveries.insertNew)
    expect(claims.made).toBe(0)
    await loop.enter(due.slice(1), deps.deliveries.insertNew)
    await eventually(() => open.length).toBe(3)
    expect(await stored(service, 'deliveries').countDocuments({ state: 'due' })).toBe(1)
    for (const { answer } of open.splice(0)) answer()
    await eventually(() => open.length).toBe(1)
    open[0]?.answer()
    await eventually(delivered).toBe(4)
    await loop.drain()
    expect(sent.length).toBe(4)
  })

  it('sends on while the store writes results, up to 128 that are not written', async () => {
    await makeDue(['one.test'], 130)
    const { deps } = service.composition
    let write = (): void => undefined
    const writable = new Promise<void>((resolve) => {
      write = resolve
    })
    const finish: typeof deps.deliveries.finish = async (...result) => {
      await writable
      return deps.deliveries.finish(...result)
    }
    const sent: string[] = []
    const send = async ({ eventId }: { eventId: string }) => {
      sent.push(eventId)
      return { outcome: 'http_200', duration_ms: 1 } as const
    }
    const parts = {
      ...deps,
      deliveries: { ...deps.deliveries, finish },
      sender: { send, close: () => undefined },
    }
    const loop = createDeliveryLoop(parts, { total: 8, perHost: 8, perAccount: 8, leaseMs: 60_000 })
    loop.wake()
    await eventually(() => sent.length).toBe(128)
    await loop.enter([dueAt('two.test')], deps.deliveries.insertNew)
    expect(sent.length).toBe(128)
    write()
    await eventually(delivered).toBe(131)
    await loop.drain()
    expect(new Set(sent).size).toBe(131)
    expect(sent.length).toBe(131)
  })

  it('gives the room back when what entered could not be stored', async () => {
    const { deps } = service.composition
    const { loop, open } = loopWith({ total: 1, perHost: 1 })
    const failing = () => Promise.reject(new Error('no store'))
    for (let failed = 0; failed < 128; failed += 1)
      await expect(loop.enter([dueAt('one.test')], failing)).rejects.toThrow('no store')
    await loop.enter([dueAt('one.test')], deps.deliveries.insertNew)
    await eventually(() => open.length).toBe(1)
    open[0]?.answer()
    await loop.drain()
    expect(await delivered()).toBe(1)
  })

  it('T8, T9: counts a connection until it is gone, though its result is written at the answer', async () => {
    await makeDue(['one.test'], 6)
    const { loop, open, sent, claims } = loopWith({ total: 64, perHost: 2 })
    loop.wake()
    await eventually(() => open.length).toBe(2)
    const held = open.splice(0).map(({ answer }) => {
      let drop = (): void => undefined
      answer(
        new Promise((gone) => {
          drop = gone
        }),
      )
      return drop
    })
    await eventually(delivered).toBe(2)
    const made = claims.made
    loop.wake()
    await eventually(() => claims.made).toBeGreaterThan(made)
    await eventually(() => claims.now).toBe(0)
    expect(sent.length).toBe(2)
    held[0]?.()
    await eventually(() => open.length).toBe(1)
    await eventually(() => claims.now).toBe(0)
    expect(sent.length).toBe(3)
    // Stopping waits for the result that is still open, and not for the connection that is held.
    const drained = loop.drain()
    open[0]?.answer()
    await drained
    expect(await delivered()).toBe(3)
  })

  it('T8, T9: counts a connection until it is gone, even when its result could not be written', async () => {
    await makeDue(['one.test'], 2)
    const { deps } = service.composition
    const deliveries = { ...deps.deliveries, finish: () => Promise.reject(new Error('no store')) }
    let drop = (): void => undefined
    const sent: string[] = []
    const send = async ({ eventId }: { eventId: string }) => {
      sent.push(eventId)
      const closed = new Promise<void>((gone) => {
        drop = gone
      })
      return { outcome: 'http_200', duration_ms: 1, closed } as const
    }
    const parts = { ...deps, deliveries, sender: { send, close: () => undefined } }
    const limits = { total: 4, perHost: 1, perAccount: 4, leaseMs: 60_000 }
    const loop = createDeliveryLoop(parts, limits)
    const unrecorded = () =>
      service.logged.filter(({ message }) => message.startsWith('recording an attempt failed')).length
    loop.wake()
    await eventually(unrecorded).toBe(1)
    expect(sent.length).toBe(1)
    drop()
    await eventually(unrecorded).toBe(2)
    expect(sent.length).toBe(2)
    await loop.drain()
  })

  it('T8: one account cannot take all slots by many host names while others wait', async () => {
    const other = await newCaller(service)
    await makeDue(
      Array.from({ length: 16 }, (_, index) => `slow-${index}.test`),
      4,
    )
    await makeDue(['calm.test'], 4, other.user.account_id)
    const { loop, open, claims } = loopWith({ total: 64, perHost: 4, perAccount: 32 })
    loop.wake()
    await eventually(() => open.filter(({ host }) => host === 'calm.test').length).toBe(4)
    await eventually(() => claims.now).toBe(0)
    // What was claimed is on its way to its receiver for a while.
    await eventually(() => open.length).toBe(36)
    for (let answered = 0; answered < 68; answered += 1) {
      await eventually(() => open.length).toBeGreaterThan(0)
      open.shift()?.answer()
      expect(open.filter(({ host }) => host !== 'calm.test').length).toBeLessThanOrEqual(32)
    }
    await eventually(delivered).toBe(68)
    await loop.drain()
  })

  it('T8: one account cannot keep others from a host by a backlog of slow paths there', async () => {
    const [second, third] = [await newCaller(service), await newCaller(service)]
    const { deps } = service.composition
    const { loop, open, sent } = loopWith({ total: 64, perHost: 4 })
    await makeDue(['shared.test'], 70)
    loop.wake()
    await eventually(() => open.length).toBe(4)
    await makeDue(['shared.test'], 2, second.user.account_id)
    loop.wake()
    // Each goes out while nothing of the first account is answered.
    for (let answered = 1; answered <= 2; answered += 1) {
      await eventually(() => open.length).toBe(5)
      open.pop()?.answer()
      await eventually(delivered).toBe(answered)
    }
    await loop.enter([dueAt('shared.test', second.user.account_id)], deps.deliveries.insertNew)
    await eventually(() => open.length).toBe(5)
    // All places are taken; the next one that becomes free is for whoever has none.
    const last = dueAt('shared.test', third.user.account_id)
    await loop.enter([last], deps.deliveries.insertNew)
    open.shift()?.answer()
    await eventually(() => sent.length).toBe(8)
    expect(sent[7]).toBe(last.event_id)
    while ((await delivered()) < 74) open.shift()?.answer()
    await loop.drain()
  })

  it('T8: does not read the backlog of a full host again whenever another callback has gone out', async () => {
    const { deps } = service.composition
    const { loop, open, claims } = loopWith({ total: 64, perHost: 2 })
    await makeDue(['slow.test'], 4)
    loop.wake()
    await eventually(() => open.length).toBe(2)
    await eventually(() => claims.now).toBe(0)
    const { made } = claims
    for (let answered = 1; answered <= 3; answered += 1) {
      await loop.enter([dueAt('quick.test')], deps.deliveries.insertNew)
      await eventually(() => open.length).toBe(3)
      open.pop()?.answer()
      await eventually(delivered).toBe(answered)
    }
    expect(claims.made).toBe(made)
    for (let answered = 0; answered < 4; answered += 1) {
      await eventually(() => open.length).toBeGreaterThan(0)
      open.shift()?.answer()
    }
    await eventually(delivered).toBe(7)
    await loop.drain()
  })

  it('claims what it had no room for when another process was faster with the rest', async () => {
    const { deliveries } = service.composition.deps
    await makeDue(['one.test'], 3)
    const { loop, open, claims } = loopWith({ total: 64, perHost: 2 }, async (query) => {
      const found: Delivery[] = []
      await deliveries.claim({ ...query, choose: (due) => due.filter((one) => found.push(one) === 0) })
      const chosen = query.choose(found).map(({ id }) => id)
      await deliveries.claim({ ...query, choose: (due) => due.filter(({ id }) => chosen.includes(id)) })
      return []
    })
    loop.wake()
    await eventually(() => open.length).toBe(1)
    expect(claims.made).toBe(2)
    open[0]?.answer()
    await loop.drain()
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
    const parts = { ...deps, deliveries, sender: { send, close: () => undefined } }
    const loop = createDeliveryLoop(parts, {
      total: 4,
      perHost: 2,
      perAccount: 4,
      leaseMs: 60_000,
    })
    loop.wake()
    await eventually(() =>
      service.logged.some(({ message }) => message.startsWith('claiming deliveries failed')),
    ).toBe(true)
    loop.wake()
    await eventually(delivered).toBe(1)
    await loop.drain()
    expect(sent.length).toBe(1)
  })
})

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runOnce } from '../../src/flow/requests/run-once.ts'
import { clockOf } from '../support/clock.ts'
import { useService } from '../support/service.ts'

const SCOPE = 'key_x:create'
// Now, or the index that clears old claims away would clear these.
const AT = new Date()
const later = (ms: number) => new Date(AT.getTime() + ms)
const claim = (change: object = {}) => ({
  scope: SCOPE,
  key: 'order-1',
  bodySha256: 'a'.repeat(64),
  subject: 'req_first',
  at: AT,
  ...change,
})

describe('a claim of an attempt that died', () => {
  it('is taken over when its lease ends, with the id of the first attempt', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim())
    expect(first).toMatchObject({ state: 'fresh', subject: 'req_first' })
    const again = claim({ subject: 'req_second', at: later(9_999) })
    expect(await idempotency.claim(again)).toEqual({ state: 'running' })
    const taken = await idempotency.claim(claim({ subject: 'req_second', at: later(10_000) }))
    expect(taken).toMatchObject({ state: 'fresh', subject: 'req_first' })
  })

  it('is never taken over for another body, which would be answered with the first body’s request', async () => {
    const { idempotency } = (await useService()).composition.deps
    await idempotency.claim(claim())
    const other = claim({ bodySha256: 'b'.repeat(64), subject: 'req_second', at: later(120_000) })
    expect(await idempotency.claim(other)).toEqual({ state: 'mismatch' })
  })

  it('is gone after a day, for whichever of those that come then is first', async () => {
    const { idempotency } = (await useService()).composition.deps
    await idempotency.claim(claim({ at: later(-24 * 3600 * 1000) }))
    const claims = [1, 2, 3, 4].map((n) => claim({ bodySha256: `${n}`.repeat(64), subject: `req_${n}` }))
    const states = (await Promise.all(claims.map((one) => idempotency.claim(one)))).map(({ state }) => state)
    expect(states.filter((state) => state === 'fresh')).toHaveLength(1)
    expect(states.every((state) => ['fresh', 'mismatch', 'running'].includes(state))).toBe(true)
  })

  it('cannot be finished or released any more by the attempt it was taken from', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim())
    if (first.state !== 'fresh') throw new Error('the first claim was not fresh')
    const { scope, key } = claim()
    await idempotency.claim(claim({ at: later(60_000) }))
    await idempotency.finish({ scope, key, token: first.token, answer: { status: 201, body: '{}' } })
    await idempotency.release({ scope, key, token: first.token })
    expect(await idempotency.claim(claim({ at: later(60_001) }))).toEqual({ state: 'running' })
  })

  it('lapses after the length of its lease, not hours later, when the clock is set back', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim({ at: later(3_600_000) }))
    if (first.state !== 'fresh') throw new Error('the first claim was not fresh')
    for (const at of [AT, later(9_999)])
      expect(await idempotency.claim(claim({ at }))).toEqual({ state: 'running' })
    const { scope, key } = claim()
    await idempotency.renew({ scope, key, token: first.token }, later(9_999))
    expect(await idempotency.claim(claim({ at: later(19_998) }))).toEqual({ state: 'running' })
    const taken = await idempotency.claim(claim({ subject: 'req_second', at: later(19_999) }))
    expect(taken).toMatchObject({ state: 'fresh', subject: 'req_first' })
  })

  it('is held for as long as it is renewed, by the attempt that has it, and free at once when it is given up', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim())
    if (first.state !== 'fresh') throw new Error('the first claim was not fresh')
    const { scope, key } = claim()
    const held = { scope, key, token: first.token }
    await idempotency.renew(held, later(9_000))
    await idempotency.renew({ ...held, token: 'another' }, later(18_000))
    expect(await idempotency.claim(claim({ at: later(18_999) }))).toEqual({ state: 'running' })
    await idempotency.abandon({ ...held, token: 'another' })
    expect(await idempotency.claim(claim({ at: later(18_999) }))).toEqual({ state: 'running' })
    await idempotency.abandon(held)
    const taken = await idempotency.claim(claim({ subject: 'req_second', at: later(9_001) }))
    expect(taken).toMatchObject({ state: 'fresh', subject: 'req_first' })
  })
})

it('a claim is renewed by its attempt for as long as that takes, and lapses soon after one that cannot renew it', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const service = await useService()
  const { deps } = service.composition
  const stored = service.composition.connection.collection<{ _id: string; claimed_at: Date }>('idempotency')
  const claimedAt = async () => (await stored.findOne({ _id: `${SCOPE}:order-1` }))?.claimed_at
  let now = AT
  let end: (answer: { status: number; body: string }) => void = () => undefined
  let renews = true
  const idempotency = {
    ...deps.idempotency,
    renew: async (...claim: Parameters<typeof deps.idempotency.renew>) => {
      if (!renews) throw new Error('the store does not hear')
      await deps.idempotency.renew(...claim)
    },
  }
  const run = (subject: string, work: () => Promise<{ status: number; body: string }>) =>
    runOnce(
      { ...deps, idempotency, clock: clockOf(() => now.getTime()) },
      { ...claim({ subject }), body: {} },
      work,
    )
  const answer = { status: 201, body: '{}' }
  const first = run('req_first', () => new Promise((resolve) => (end = resolve)))
  await expect.poll(claimedAt).toEqual(AT)
  for (let ms = 3_000; ms <= 60_000; ms += 3_000) {
    now = later(ms)
    vi.advanceTimersByTime(3_000)
    await expect.poll(claimedAt).toEqual(now)
  }
  await expect(run('req_second', async () => answer)).rejects.toMatchObject({
    code: 'idempotency_in_progress',
  })
  renews = false
  vi.advanceTimersByTime(3_000)
  now = later(70_000)
  expect(await run('req_second', async () => answer)).toEqual({ ...answer, replayed: false })
  end(answer)
  await first
  expect(await run('req_third', async () => answer)).toEqual({ ...answer, replayed: true })
})

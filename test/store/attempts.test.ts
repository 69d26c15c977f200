import { expect, it } from 'vitest'
import { usePeopleStores } from '../support/people-stores.ts'

let now = new Date()
const stores = usePeopleStores(() => now)
const QUARTER = { most: 3, seconds: 15 * 60 }

it('T26: no stretch of that length holds more than are allowed, wherever on the clock it begins', async () => {
  const { attempts } = stores()
  const take = async (time: string) => {
    now = new Date(`2100-01-01T${time}Z`)
    const { allowed, remaining, resetAt, retryAfter } = await attempts.take('totp:192.0.2.2', QUARTER)
    return [allowed, remaining, resetAt.toISOString().slice(11, 19), retryAfter]
  }
  expect(await take('00:10:00')).toEqual([true, 2, '00:25:00', 900])
  expect(await take('00:14:59')).toEqual([true, 1, '00:25:00', 601])
  // The next quarter of the hour begins no new window.
  expect(await take('00:15:00')).toEqual([true, 0, '00:25:00', 600])
  expect(await take('00:15:01')).toEqual([false, 0, '00:25:00', 599])
  expect(await take('00:24:59')).toEqual([false, 0, '00:25:00', 1])
  // What was refused counts for nothing; each that was let through is free again on its own.
  expect(await take('00:25:00')).toEqual([true, 0, '00:29:59', 299])
  expect(await take('00:25:01')).toEqual([false, 0, '00:29:59', 298])
  expect((await attempts.take('totp:192.0.2.3', QUARTER)).remaining).toBe(2)
})

it('T26: are counted exactly, however many come at once', async () => {
  const { attempts } = stores()
  const taken = await Promise.all(
    Array.from({ length: 40 }, () => attempts.take('totp:192.0.2.1', { most: 25, seconds: 900 })),
  )
  const let_through = taken.filter(({ allowed }) => allowed)
  expect(let_through.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 25 }, (_, left) => left),
  )
})

it('T26: a check lets through what a taking would, and counts nothing', async () => {
  const { attempts } = stores()
  now = new Date('2100-01-02T00:10:00Z')
  const check = async () => {
    const { allowed, remaining, retryAfter } = await attempts.check('totp:192.0.2.4', QUARTER)
    return [allowed, remaining, retryAfter]
  }
  for (let turn = 0; turn < 4; turn += 1) expect(await check()).toEqual([true, 3, 900])
  for (let turn = 0; turn < 3; turn += 1)
    expect((await attempts.take('totp:192.0.2.4', QUARTER)).allowed).toBe(true)
  now = new Date('2100-01-02T00:20:00Z')
  expect(await check()).toEqual([false, 0, 300])
  now = new Date('2100-01-02T00:25:00Z')
  expect(await check()).toEqual([true, 3, 900])
})

it('T26: those of a clock that was set back since count no longer, and those after it do', async () => {
  const { attempts } = stores()
  const take = async (time: string) => {
    now = new Date(`2100-01-03T${time}Z`)
    const { allowed, remaining } = await attempts.take('totp:192.0.2.5', QUARTER)
    return [allowed, remaining]
  }
  for (const left of [2, 1, 0]) expect(await take('10:00:00')).toEqual([true, left])
  for (const left of [2, 1, 0]) expect(await take('09:00:00')).toEqual([true, left])
  expect(await take('09:00:01')).toEqual([false, 0])
})

it('one that is taken back is free again, once, and never more than that', async () => {
  const { attempts } = stores()
  const take = () => attempts.take('totp:a', QUARTER)
  const first = await take()
  await take()
  await attempts.giveBack('totp:a', first)
  await attempts.giveBack('totp:a', first)
  await attempts.giveBack('totp:b', first)
  expect((await take()).remaining).toBe(1)
  expect((await take()).remaining).toBe(0)
  expect((await take()).allowed).toBe(false)
})

it('attempts taken and given back at once leave exactly the others', async () => {
  const { attempts } = stores()
  const plenty = { most: 100, seconds: 900 }
  await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const taken = await attempts.take('totp:c', plenty)
      if (index % 3 > 0) await attempts.giveBack('totp:c', taken)
    }),
  )
  expect((await attempts.take('totp:c', plenty)).remaining).toBe(100 - 11)
})

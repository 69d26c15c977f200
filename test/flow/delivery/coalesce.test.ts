import { expect, it } from 'vitest'
import { coalesce } from '../../../src/ports/coalesce.ts'

/** Work that ends when it is told to. */
function gated() {
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = []
  const work = () =>
    new Promise<void>((resolve, reject) => {
      ends.push({ resolve, reject })
    })
  return { work, ends }
}

it('shares one more run among all who call during a run, and none among those before', async () => {
  const { work, ends } = gated()
  const run = coalesce(work)
  const first = run()
  const others = [run(), run(), run()]
  expect(ends).toHaveLength(1)
  ends[0]?.resolve()
  await first
  await expect.poll(() => ends).toHaveLength(2)
  ends[1]?.resolve()
  await Promise.all(others)
  const later = run()
  ends[2]?.resolve()
  await later
  expect(ends).toHaveLength(3)
})

it('does what was asked for during a run that fails, and tells each caller of their own run', async () => {
  const { work, ends } = gated()
  const run = coalesce(work)
  const first = run()
  const second = run()
  ends[0]?.reject(new Error('the store hiccups'))
  await expect(first).rejects.toThrow('hiccups')
  await expect.poll(() => ends).toHaveLength(2)
  ends[1]?.resolve()
  await expect(second).resolves.toBeUndefined()
})

it('never runs twice at once, whenever it is called', async () => {
  let under = 0
  let most = 0
  let runs = 0
  const run = coalesce(async () => {
    under += 1
    runs += 1
    most = Math.max(most, under)
    await Promise.resolve()
    under -= 1
  })
  const calls: Promise<void>[] = []
  for (let turn = 0; turn < 200; turn += 1) {
    calls.push(run())
    if (turn % 3 === 0) await Promise.resolve()
    calls.push(run().then(() => run()))
  }
  await Promise.all(calls)
  expect(most).toBe(1)
  expect(runs).toBeGreaterThan(1)
})

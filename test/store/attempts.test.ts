import { expect, it } from 'vitest'
import { usePeopleStores } from '../support/people-stores.ts'

let now = new Date()
const stores = usePeopleStores(() => now)
const MINUTES = 15 * 60

it('an attempt goes back into the window it was taken from, and never below none', async () => {
  const { attempts } = stores()
  now = new Date('2100-01-01T00:14:59.000Z')
  await attempts.take('totp:a', MINUTES)
  const { ends } = await attempts.take('totp:a', MINUTES)
  now = new Date('2100-01-01T00:15:00.000Z')
  await attempts.take('totp:a', MINUTES)
  await attempts.giveBack('totp:a', MINUTES, ends)
  await attempts.giveBack('totp:b', MINUTES, ends)
  expect((await attempts.take('totp:a', MINUTES)).count).toBe(2)
  now = new Date('2100-01-01T00:14:59.000Z')
  expect((await attempts.take('totp:a', MINUTES)).count).toBe(2)
  for (let times = 0; times < 5; times += 1) await attempts.giveBack('totp:a', MINUTES, ends)
  expect((await attempts.take('totp:a', MINUTES)).count).toBe(1)
})

it('attempts taken and given back at once leave exactly the others', async () => {
  const { attempts } = stores()
  now = new Date('2100-02-01T00:00:00.000Z')
  await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const { ends } = await attempts.take('totp:c', MINUTES)
      if (index % 3 > 0) await attempts.giveBack('totp:c', MINUTES, ends)
    }),
  )
  expect((await attempts.take('totp:c', MINUTES)).count).toBe(11)
})

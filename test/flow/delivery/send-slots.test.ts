import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSendSlots } from '../../../src/flow/queue/send-slots.ts'

const HOSTS = ['a', 'b', 'c', 'd', 'e', 'f']
const ACCOUNTS = ['acc_1', 'acc_2', 'acc_3']
/** The slots of hosts and accounts do not ask for it. */
const NOW = new Date(0)
const ALL = ACCOUNTS.flatMap((account_id) => HOSTS.map((host) => ({ host, account_id })))

it('keeps all limits, whichever hosts and accounts come, and lets in whatever is within them', () => {
  const step = fc.record({ kind: fc.constantFrom('come', 'come', 'end'), pick: fc.nat(1_000) })
  const limits = fc.record({
    total: fc.integer({ min: 1, max: 9 }),
    perHost: fc.integer({ min: 1, max: 4 }),
    perAccount: fc.integer({ min: 1, max: 6 }),
  })
  const steps = fc.array(step, { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(limits, steps, ({ total, perHost, perAccount }, walk) => {
      const slots = createSendSlots({ total, perHost, perAccount })
      const running: typeof ALL = []
      const count = (part: Partial<(typeof ALL)[number]>) =>
        running.filter((one) =>
          Object.entries(part).every(([field, value]) => Reflect.get(one, field) === value),
        ).length
      for (const { kind, pick } of walk) {
        const { host, account_id } = ALL[pick % ALL.length] ?? expect.unreachable()
        const there = count({ host })
        // One more than `perHost`, for an account that has none there.
        const newcomer = there === perHost && count({ host, account_id }) === 0
        const within =
          running.length < total && (there < perHost || newcomer) && count({ account_id }) < perAccount
        const busy = slots.busy(NOW)
        expect([slots.room(), slots.fits({ host, account_id })]).toEqual([total - running.length, within])
        expect(busy.busyHosts.includes(host)).toBe(there > perHost)
        expect(
          busy.busyPairs.filter((pair) => pair.host === host && pair.account_id === account_id).length,
        ).toBe(there === perHost && !newcomer ? 1 : 0)
        expect(busy.busyAccounts.includes(account_id)).toBe(count({ account_id }) === perAccount)
        if (kind === 'come' && within) {
          slots.take({ host, account_id })
          running.push({ host, account_id })
        }
        if (kind === 'end')
          for (const sent of running.splice(pick % (running.length + 1), 1)) slots.free(sent)
      }
    }),
    { numRuns: 300 },
  )
})

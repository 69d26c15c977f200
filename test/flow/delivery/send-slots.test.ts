import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSendSlots } from '../../../src/flow/delivery/send-loop.ts'

const HOSTS = ['a', 'b', 'c', 'd', 'e', 'f']
const ACCOUNTS = ['acc_1', 'acc_2', 'acc_3']
/** The slots of hosts and accounts do not ask for it. */
const NOW = new Date(0)
const ALL = ACCOUNTS.flatMap((account_id) => HOSTS.map((host) => ({ host, account_id })))

it('keeps all limits, whichever hosts and accounts the claims on their way turn out to have', () => {
  const step = fc.record({ kind: fc.constantFrom('claim', 'land', 'miss', 'end'), pick: fc.nat(1_000) })
  const limits = fc.record({
    total: fc.integer({ min: 1, max: 9 }),
    perHost: fc.integer({ min: 1, max: 4 }),
    perAccount: fc.integer({ min: 1, max: 6 }),
  })
  const steps = fc.array(step, { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(limits, steps, ({ total, perHost, perAccount }, walk) => {
      const slots = createSendSlots({ total, perHost, perAccount })
      const claims: ReturnType<typeof slots.busy>[] = []
      const running: typeof ALL = []
      for (const { kind, pick } of walk) {
        const at = <T>(list: T[]): T[] => (list.length === 0 ? [] : list.splice(pick % list.length, 1))
        if (kind === 'claim' && slots.roomFor(claims.length + 1)) claims.push(slots.busy(NOW))
        if (kind === 'miss') at(claims)
        if (kind === 'land') {
          for (const { busyHosts, busyAccounts } of at(claims)) {
            const possible = ALL.filter(
              ({ host, account_id }) => !busyHosts.includes(host) && !busyAccounts.includes(account_id),
            )
            const sent = possible[pick % possible.length]
            if (sent === undefined) continue
            slots.take(sent)
            running.push(sent)
          }
        }
        if (kind === 'end') for (const sent of at(running)) slots.free(sent)
        expect(running.length).toBeLessThanOrEqual(total)
        for (const host of HOSTS)
          expect(running.filter((one) => one.host === host).length).toBeLessThanOrEqual(perHost)
        for (const account of ACCOUNTS)
          expect(running.filter((one) => one.account_id === account).length).toBeLessThanOrEqual(perAccount)
      }
    }),
    { numRuns: 300 },
  )
})

it('lets one more claim go wherever there is room at all', () => {
  const slots = createSendSlots({ total: 3, perHost: 2, perAccount: 3 })
  const a = { host: 'a', account_id: 'acc_1' }
  slots.take(a)
  slots.take(a)
  expect(slots.busy(NOW)).toEqual({ busyHosts: ['a'], busyAccounts: [] })
  expect([slots.roomFor(1), slots.roomFor(2)]).toEqual([true, false])
  slots.take({ host: 'b', account_id: 'acc_2' })
  expect(slots.roomFor(1)).toBe(false)
  slots.free(a)
  expect([slots.roomFor(1), slots.busy(NOW)]).toEqual([true, { busyHosts: [], busyAccounts: [] }])
})

it('leaves an account out that has its share, and keeps the rest for others', () => {
  const slots = createSendSlots({ total: 4, perHost: 4, perAccount: 2 })
  slots.take({ host: 'a', account_id: 'acc_1' })
  expect([slots.roomFor(1), slots.roomFor(2)]).toEqual([true, false])
  slots.take({ host: 'b', account_id: 'acc_1' })
  expect(slots.busy(NOW)).toEqual({ busyHosts: [], busyAccounts: ['acc_1'] })
  expect([slots.roomFor(2), slots.roomFor(3)]).toEqual([true, false])
  slots.free({ host: 'a', account_id: 'acc_1' })
  expect(slots.busy(NOW).busyAccounts).toEqual([])
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSendSlots } from '../../../src/flow/delivery/send-slots.ts'

const HOSTS = ['a', 'b', 'c', 'd', 'e', 'f']

it('keeps both limits, whichever hosts the claims on their way turn out to have', () => {
  const step = fc.record({ kind: fc.constantFrom('claim', 'land', 'miss', 'end'), pick: fc.nat(1_000) })
  const limits = fc.record({ total: fc.integer({ min: 1, max: 9 }), perHost: fc.integer({ min: 1, max: 4 }) })
  const steps = fc.array(step, { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(limits, steps, ({ total, perHost }, walk) => {
      const slots = createSendSlots({ total, perHost })
      const claims: string[][] = []
      const running: string[] = []
      for (const { kind, pick } of walk) {
        const at = <T>(list: T[]): T[] => (list.length === 0 ? [] : list.splice(pick % list.length, 1))
        if (kind === 'claim' && slots.roomFor(claims.length + 1)) claims.push(slots.busyHosts())
        if (kind === 'miss') at(claims)
        if (kind === 'land') {
          for (const busy of at(claims)) {
            const possible = HOSTS.filter((host) => !busy.includes(host))
            const host = possible[pick % possible.length] ?? expect.unreachable('a claim with no host left')
            slots.take(host)
            running.push(host)
          }
        }
        if (kind === 'end') for (const host of at(running)) slots.free(host)
        expect(running.length).toBeLessThanOrEqual(total)
        for (const host of HOSTS)
          expect(running.filter((one) => one === host).length).toBeLessThanOrEqual(perHost)
      }
    }),
    { numRuns: 300 },
  )
})

it('lets one more claim go wherever there is room at all', () => {
  const slots = createSendSlots({ total: 3, perHost: 2 })
  slots.take('a')
  slots.take('a')
  expect(slots.busyHosts()).toEqual(['a'])
  expect([slots.roomFor(1), slots.roomFor(2)]).toEqual([true, false])
  slots.take('b')
  expect(slots.roomFor(1)).toBe(false)
  slots.free('a')
  expect([slots.roomFor(1), slots.busyHosts()]).toEqual([true, []])
})

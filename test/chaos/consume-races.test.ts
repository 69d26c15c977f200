import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Refusal } from '../../src/domain/errors.ts'
import { consumeRequest, type Use } from '../../src/flow/requests/consume-request.ts'
import { proveFor, tryDecide } from '../support/deciders.ts'
import { type Racing, startRacing } from '../support/racing.ts'
import { size } from '../support/size.ts'

const ROUNDS = size(8, 20)
const AT_ONCE = 50
const action = 'Pay 10 to ACME'
const context = { amount: 10 }

let racing: Racing
beforeAll(async () => {
  racing = await startRacing(`consume_races_${process.pid}`)
})
afterAll(() => racing.close())

/** @returns the time of the use, or the refusal's code */
async function tryConsume(index: number, id: string, use: Use): Promise<string> {
  try {
    const { deps } = racing.at(index).composition
    const { request } = await consumeRequest(deps, racing.caller, id, { key: undefined, ...use })
    return `used ${request.consumed_at?.toISOString()}`
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

async function decide(id: string): Promise<string> {
  const { deps } = racing.at(0).composition
  return tryDecide(deps, racing.decider, await proveFor(deps, racing.decider, id, 'approved'))
}

function consumeAtOnce(id: string, use: (index: number) => Use): Promise<string[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, (_, index) => tryConsume(index, id, use(index))))
}

async function expectUsedOnce(id: string, results: readonly string[]): Promise<void> {
  const winners = results.filter((result) => result.startsWith('used'))
  const request = await racing.stored(id)
  expect(winners).toEqual([`used ${request.consumed_at?.toISOString()}`])
  expect(request).toMatchObject({ status: 'approved', version: 3 })
  expect(request.audit.filter((entry) => entry.type === 'approval.consumed')).toHaveLength(1)
  expect(request.outbox).toHaveLength(2)
}

describe('using an approval up', () => {
  it(`${AT_ONCE} times at once over 4 services succeeds exactly once, in each of ${ROUNDS} rounds`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = await racing.make({ action, context })
      await decide(id)
      const results = await consumeAtOnce(id, () => ({ action, context }))
      await expectUsedOnce(id, results)
      expect(results.filter((result) => result === 'already_consumed')).toHaveLength(AT_ONCE - 1)
    }
  })

  it('never succeeds for those who are about to do something else, however many they are', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await racing.make({ action, context })
      await decide(id)
      const right = round * 7
      const results = await consumeAtOnce(id, (index) => ({
        context: index === right ? context : { amount: 1_000 },
      }))
      await expectUsedOnce(id, results)
      expect(results[right]).toMatch(/^used/)
    }
  })

  it('while it is being decided succeeds at most once, and never before the decision', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await racing.make({ action })
      const decided = decide(id)
      const early = await consumeAtOnce(id, () => ({ action }))
      expect(await decided).toMatch(/^dec_/)
      const late = await consumeAtOnce(id, () => ({ action }))
      const all = [...early, ...late]
      await expectUsedOnce(id, all)
      const others = new Set(all.filter((result) => !result.startsWith('used')))
      expect([...others].filter((code) => code !== 'not_approved' && code !== 'already_consumed')).toEqual([])
    }
  })
})

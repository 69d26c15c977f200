import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Refusal } from '../../src/domain/errors.ts'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import { cancelRequest } from '../../src/flow/requests/cancel-request.ts'
import { expireIfLapsed } from '../../src/flow/requests/settle-request.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { proveFor, tryDecide } from '../support/deciders.ts'
import { type Racing, startRacing } from '../support/racing.ts'

const ROUNDS = 200
const AT_ONCE = 10

let racing: Racing
beforeAll(async () => {
  racing = await startRacing(`cancel_races_${process.pid}`)
})
afterAll(() => racing.close())

/** How the three are set against each other; both follow the machine's pace, so that each of them wins often. */
interface Pace {
  /** Milliseconds until the time runs out. */
  edgeMs: number
  /** Reads that the withdrawal makes first: a decision takes longer. */
  headStart: number
}

async function tryCancel(index: number, id: string): Promise<string> {
  try {
    await cancelRequest(racing.at(index).composition.deps, racing.caller, id)
    return 'cancelled'
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

async function cancelLater(index: number, id: string, reads: number): Promise<string> {
  for (let read = 0; read < reads; read += 1) await racing.stored(id)
  return tryCancel(index, id)
}

async function keepExpiring(index: number, id: string): Promise<void> {
  const { deps } = racing.at(index).composition
  for (let request = await racing.stored(id); request.status === 'pending'; )
    request = await expireIfLapsed(deps, await racing.stored(id))
}

/** Lets all three go at one request. @returns what it became */
async function race(
  index: number,
  { edgeMs, headStart }: Pace,
): Promise<'approved' | 'cancelled' | 'expired'> {
  const id = await racing.make()
  const { deps } = racing.at(index).composition
  const input = await proveFor(deps, racing.decider, id, 'approved')
  const edge = new Date(deps.clock.now().getTime() + edgeMs)
  await racing
    .at(0)
    .composition.connection.collection<{ _id: string }>('requests')
    .updateOne({ _id: id }, { $set: { expires_at: edge } })
  const [decided, cancelled] = await Promise.all([
    tryDecide(deps, racing.decider, input),
    cancelLater(index + 1, id, headStart),
    keepExpiring(index + 2, id),
  ])
  const request = await racing.stored(id)
  const outcome = request.status === 'approved' ? 'approved' : request.cancelled ? 'cancelled' : 'expired'
  expect(decided.startsWith('dec_') ? 'approved' : decided).toBe(
    outcome === 'approved' ? 'approved' : 'not_pending',
  )
  expect(cancelled).toBe(outcome === 'cancelled' ? 'cancelled' : 'not_pending')
  expectOneEnd(request, outcome, decided)
  return outcome
}

function expectOneEnd(
  request: ApprovalRequest,
  outcome: 'approved' | 'cancelled' | 'expired',
  decided: string,
): void {
  const events = request.outbox.map(({ body }) => Object(JSON.parse(body)))
  const audit = request.audit.map((entry) => entry.type)
  expect(request.version).toBe(2)
  if (outcome === 'approved') {
    expect(request).toMatchObject({ status: 'approved', decision: { id: decided } })
    expect(events).toMatchObject([{ type: 'approval.created' }, { type: 'approval.approved' }])
    expect(audit).toEqual(['approval.created', 'approval.voted', 'approval.approved'])
    const keys = racing.at(0).composition.deps.keys.ring().publicRecords()
    expect(verifyReceiptJson({ decision_id: decided, ...request.decision?.receipt }, keys)).toMatchObject({
      valid: true,
    })
    return
  }
  expect(request).toMatchObject({ status: 'expired', votes: [] })
  expect(JSON.stringify(request)).not.toContain('"signature"')
  expect(events).toMatchObject([{ type: 'approval.created' }, { type: 'approval.expired' }])
  expect('cancelled' in events[1].data).toBe(outcome === 'cancelled')
  expect(audit).toEqual(['approval.created', `approval.${outcome}`])
}

describe('withdrawal against decision against expiry', () => {
  it(`T76, T77: ${ROUNDS} times at the edge, over 4 services: each request ends in one way, with the event and audit of that`, async () => {
    const seen = { approved: 0, cancelled: 0, expired: 0 }
    const pace: Pace = { edgeMs: 100, headStart: 4 }
    const least = () => Math.min(...Object.values(seen))
    let raced = 0
    // Longer where one of the three has hardly won yet: how they run depends on what else the machine does.
    for (; raced < ROUNDS || (least() <= 5 && raced < 5 * ROUNDS); raced += AT_ONCE) {
      const runs = Array.from({ length: AT_ONCE }, (_, index) =>
        race(index, {
          edgeMs: (pace.edgeMs * (index + 1)) / 5,
          headStart: Math.round((pace.headStart * index) / 5),
        }),
      )
      for (const outcome of await Promise.all(runs)) seen[outcome] += 1
      pace.edgeMs *= seen.expired > seen.approved + seen.cancelled ? 1.4 : 0.8
      pace.headStart = Math.min(
        40,
        Math.max(1, pace.headStart * (seen.cancelled > seen.approved ? 1.3 : 0.8)),
      )
    }
    expect(seen.approved + seen.cancelled + seen.expired).toBe(raced)
    expect(least(), JSON.stringify(seen)).toBeGreaterThan(5)
  })

  it('20 withdrawals at once: one succeeds and leaves one event', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await racing.make()
      const results = await Promise.all(Array.from({ length: 20 }, (_, index) => tryCancel(index, id)))
      expect(results.filter((result) => result === 'cancelled')).toHaveLength(1)
      expect(results.filter((result) => result === 'not_pending')).toHaveLength(19)
      expectOneEnd(await racing.stored(id), 'cancelled', '')
    }
  })
})

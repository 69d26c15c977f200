import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../../src/flow/keys/authenticate-caller.ts'
import { createApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import { expireIfLapsed } from '../../src/flow/requests/settle-request.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { type Decider, deciderOf, proveFor, setPolicy, tryDecide } from '../support/deciders.ts'
import { enrolWithPasskey } from '../support/enrolled.ts'
import { startService, type TestService } from '../support/service.ts'
import { size } from '../support/size.ts'

/** Four services on one database: as four processes, each with caches, pools and clocks of its own. */
let services: TestService[]
let deciders: Decider[]
let caller: Caller

const first = (): TestService => services[0] ?? expect.unreachable()
const decider = (): Decider => deciders[0] ?? expect.unreachable()
const serviceAt = (index: number): TestService => services[index % services.length] ?? expect.unreachable()
const deciderAt = (index: number): Decider => deciders[index % deciders.length] ?? expect.unreachable()

beforeAll(async () => {
  const database = `races_${process.pid}`
  services = [await startService({ database })]
  const env = { BASE_URL: first().url }
  for (let index = 1; index < 4; index += 1) services.push(await startService({ database, env }))
  deciders = []
  for (let index = 0; index < 3; index += 1) {
    deciders.push(await deciderOf(first(), await enrolWithPasskey(first(), `approver${index}@example.com`)))
  }
  const { deps } = first().composition
  const made = await createApiKey(
    deps,
    { accountId: decider().user.account_id, name: 'races', sandbox: false },
    { kind: 'cli' },
  )
  caller = { key: made.key, scopes: made.key.scopes, address: '127.0.0.1' }
  await first()
    .composition.connection.collection<{ _id: string }>('accounts')
    .updateOne({ _id: decider().user.account_id }, { $set: { monthly_quota: 0 } })
})

afterAll(async () => {
  await first().composition.connection.db?.dropDatabase()
  for (const service of services) await service.close()
})

async function make(ttl_seconds = 600): Promise<string> {
  const input = { action: 'Pay 10', context: {}, requires_individual_decision: false, ttl_seconds }
  const { deps } = first().composition
  return (await createRequest(deps, caller, input)).request.id
}

async function stored(id: string) {
  return (await first().composition.deps.requests.find(id)) ?? expect.unreachable()
}

/** One round finds a decision that is written twice, most of the time; the edge needs some rounds to be found. */
const REQUESTS = size(10, 200)
const EDGES = size(160, 1_000)
const AT_ONCE = 20
const VOTES = size(4, 10)

describe('two decisions at once', () => {
  it(`T76, T78: 100 parallel approvals and rejections of each of ${REQUESTS} requests over 4 services leave one decision each`, async () => {
    for (let round = 0; round < REQUESTS; round += 1) {
      const id = await make()
      const inputs = []
      for (let index = 0; index < 100; index += 1) {
        inputs.push(
          await proveFor(
            serviceAt(index).composition.deps,
            decider(),
            id,
            index % 2 === 0 ? 'approved' : 'rejected',
          ),
        )
      }
      const results = await Promise.all(
        inputs.map((input, index) => tryDecide(serviceAt(index).composition.deps, decider(), input)),
      )
      const winners = results.filter((result) => result.startsWith('dec_'))
      const request = await stored(id)
      expect(winners).toEqual([request.decision?.id])
      expect(new Set(results.filter((result) => !result.startsWith('dec_')))).toEqual(
        new Set(['not_pending']),
      )
      expect(request.votes).toHaveLength(1)
      expect(request.outbox.map((event) => event.type)).toEqual([
        'approval.created',
        `approval.${request.status}`,
      ])
      expect(JSON.stringify(request).match(/"signature":/g)).toHaveLength(3)
    }
  }, 1_800_000)
})

describe('decision against expiry', () => {
  it(`T77: ${EDGES} times at the edge: never both, and an expired request keeps no artifact`, async () => {
    const outcomes = { decided: 0, expired: 0 }
    // The edge follows the machine's pace, so that both sides win often however slow it is.
    let window = 50
    const least = () => Math.min(outcomes.decided, outcomes.expired)
    let raced = 0
    for (; raced < EDGES || (least() <= EDGES / 50 && raced < 5 * EDGES); raced += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => race(index, (window * index) / 10, outcomes)),
      )
      window *= outcomes.decided < outcomes.expired ? 2 : 0.5
    }
    expect(outcomes.decided + outcomes.expired).toBe(raced)
    expect(least(), JSON.stringify(outcomes)).toBeGreaterThan(EDGES / 50)
  }, 1_800_000)

  async function race(
    index: number,
    edgeMs: number,
    outcomes: { decided: number; expired: number },
  ): Promise<void> {
    const id = await make()
    const { deps } = serviceAt(index).composition
    const input = await proveFor(deps, deciderAt(0), id, 'approved')
    const requests = first().composition.connection.collection<{ _id: string }>('requests')
    const edge = new Date(deps.clock.now().getTime() + edgeMs)
    await requests.updateOne({ _id: id }, { $set: { expires_at: edge } })
    const [result] = await Promise.all([
      tryDecide(deps, decider(), input),
      keepExpiring(serviceAt(index + 1), id),
    ])
    const request = await stored(id)
    if (result.startsWith('dec_')) {
      expect(request).toMatchObject({ status: 'approved', decision: { id: result } })
      const receipt = verifyReceiptJson(
        { decision_id: result, ...request.decision?.receipt },
        deps.keys.ring().publicRecords(),
      )
      expect(receipt).toMatchObject({ valid: true })
      outcomes.decided += 1
    } else {
      expect({ result, status: request.status, votes: request.votes }).toEqual({
        result: 'not_pending',
        status: 'expired',
        votes: [],
      })
      expect(JSON.stringify(request)).not.toContain('"signature"')
      outcomes.expired += 1
    }
    expect(request.outbox).toHaveLength(2)
  }

  async function keepExpiring(service: TestService, id: string): Promise<void> {
    for (let request = await stored(id); request.status === 'pending'; ) {
      request = await expireIfLapsed(service.composition.deps, await stored(id))
    }
  }
})

describe('quorum', () => {
  it('T79, T80: one person voting many times in parallel counts once; the approving vote makes one event and signs every vote', async () => {
    const ids = deciders.map(({ user }) => user.id)
    await setPolicy(first(), decider().user.account_id, { approvers: ids, quorum: 2 })
    for (let round = 0; round < VOTES; round += 1) {
      const id = await make()
      const same = []
      for (let index = 0; index < 10; index += 1)
        same.push(await proveFor(serviceAt(index).composition.deps, decider(), id, 'approved'))
      const firstVotes = await Promise.all(
        same.map((input, index) => tryDecide(serviceAt(index).composition.deps, decider(), input)),
      )
      expect(firstVotes.filter((result) => result.startsWith('dec_'))).toHaveLength(1)
      expect(await stored(id)).toMatchObject({ status: 'pending' })
      expect(JSON.stringify(await stored(id))).not.toContain('"receipt"')
      const others = await Promise.all(
        [1, 2].map(
          async (index) =>
            [
              deciderAt(index),
              await proveFor(serviceAt(index).composition.deps, deciderAt(index), id, 'approved'),
            ] as const,
        ),
      )
      await Promise.all(
        others.map(([who, input], index) => tryDecide(serviceAt(index).composition.deps, who, input)),
      )
      const request = await stored(id)
      expect(request.status).toBe('approved')
      expect(request.votes).toHaveLength(2)
      expect(new Set(request.votes.map((vote) => vote.user_id)).size).toBe(2)
      expect(request.decision?.id).toBe(request.votes.at(-1)?.decision_id)
      expect(request.outbox.filter((event) => event.type === 'approval.approved')).toHaveLength(1)
      for (const vote of request.votes) {
        const receipt = { decision_id: vote.decision_id, ...vote.receipt }
        expect(
          verifyReceiptJson(receipt, first().composition.deps.keys.ring().publicRecords()),
        ).toMatchObject({ valid: true })
      }
    }
  })

  it('T79: the approvers fixed at creation stay, whatever the policy says later; one rejection rejects', async () => {
    const id = await make()
    await setPolicy(first(), decider().user.account_id, { approvers: [deciderAt(2).user.id], quorum: 1 })
    const { deps } = first().composition
    expect(await tryDecide(deps, decider(), await proveFor(deps, decider(), id, 'approved'))).toMatch(/^dec_/)
    expect(await stored(id)).toMatchObject({ status: 'pending', requirement: { quorum: 2 } })
    expect(await tryDecide(deps, deciderAt(1), await proveFor(deps, deciderAt(1), id, 'rejected'))).toMatch(
      /^dec_/,
    )
    expect(await stored(id)).toMatchObject({ status: 'rejected', decision: { decision: 'rejected' } })
  })
})

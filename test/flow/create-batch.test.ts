import { afterAll, beforeAll, expect, it } from 'vitest'
import { Refusal } from '../../src/domain/errors.ts'
import { createBatch } from '../../src/flow/requests/create-batch.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import { type Racing, startRacing } from '../support/racing.ts'

let racing: Racing
beforeAll(async () => {
  racing = await startRacing(`batches_${process.pid}`)
})
afterAll(() => racing.close())

/** Lets each insert of one of the services wait for a turn of its own, the last first: in any order, the outcome is the same. */
function shuffleInserts(): void {
  for (const index of [0, 1, 2, 3]) {
    const { requests } = racing.at(index).composition.deps
    const { insert } = requests
    requests.insert = async (request, ...more) => {
      const turns = (Number(/ (\d)$/.exec(request.action)?.[1]) + index) % 4
      for (let turn = 0; turn < turns; turn += 1) await requests.find(request.id)
      return insert(request, ...more)
    }
  }
}

it('of calls with one key and bodies of their own in four processes, one makes its requests and no other any', async () => {
  shuffleInserts()
  const bodies = Array.from({ length: 12 }, (_, n) => Array.from({ length: 5 }, (_, m) => `Pay ${n} ${m}`))
  const calls = bodies.map(async (actions, n) => {
    const { deps } = racing.at(n % 4).composition
    const inputs = actions.map((action) => ({ action, context: {}, requires_individual_decision: false }))
    try {
      return (await createBatch(deps, racing.caller, inputs, { key: 'one', body: { actions } })).requests
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      expect(error.code).toBe('idempotency_mismatch')
      return []
    }
  })
  const made = (await Promise.all(calls)).filter(({ length }) => length > 0)
  expect(made).toHaveLength(1)
  const { requests } = racing.at(0).composition.deps
  const stored = await requests.list({ api_key_id: racing.caller.key.id, limit: 100 })
  expect(stored.map(({ id }) => id).sort()).toEqual(made[0]?.map(({ id }) => id).sort())
})

it('equal calls at once in four processes make one batch, each of its requests once and in its place', async () => {
  const actions = Array.from({ length: 6 }, (_, n) => `Pay all ${n}`)
  const inputs = actions.map((action, n) => ({ action, context: {}, requires_individual_decision: n === 0 }))
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      createBatch(racing.at(n).composition.deps, racing.caller, inputs, { key: 'same', body: { actions } }),
    ),
  )
  const ids = answers.map(({ requests }) => requests.map(({ id }) => id))
  expect(new Set(ids.map(String)).size).toBe(1)
  const made = await racing.at(0).composition.deps.requests.findMany(ids[0] ?? [])
  const batches = (ids[0] ?? []).map((id) => made.find((one) => one.id === id)?.batch)
  expect(batches.map((batch) => batch?.place)).toEqual([undefined, 1, 2, 3, 4, 5])
  expect(new Set(batches.slice(1).map((batch) => batch?.id)).size).toBe(1)
})

it('of a batch and a single request at once under one key, one is made whole and nothing of the other', async () => {
  shuffleInserts()
  const input = (action: string) => ({ action, context: {}, requires_individual_decision: false })
  const refused = (error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    return error.code
  }
  const won = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      const actions = Array.from({ length: 4 }, (_, m) => `Mix ${n} ${m}`)
      const key = `mix-${n}`
      const alone = { action: `Mix ${n} alone 0` }
      const [single, batch] = await Promise.all([
        createRequest(racing.at(n).composition.deps, racing.caller, input(alone.action), {
          key,
          body: alone,
        }).then(({ request }) => [request.action], refused),
        createBatch(racing.at(n + 1).composition.deps, racing.caller, actions.map(input), {
          key,
          body: { actions },
        }).then(({ requests }) => requests.map(({ action }) => action), refused),
      ])
      const made = [single, batch].filter((one) => typeof one !== 'string')
      expect([made.length, [single, batch].includes('idempotency_mismatch')]).toEqual([1, true])
      return made.flat()
    }),
  )
  const { requests } = racing.at(0).composition.deps
  const stored = await requests.list({ api_key_id: racing.caller.key.id, limit: 200 })
  const mixed = stored.map(({ action }) => action).filter((action) => action.startsWith('Mix '))
  expect(mixed.sort()).toEqual(won.flat().sort())
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REFUSALS } from '../../src/domain/errors.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { resetPerson } from '../../src/flow/joining/invite-user.ts'
import type { SignedIn } from '../../src/flow/people/sessions.ts'
import { cancelRequest } from '../../src/flow/requests/cancel-request.ts'
import { decide } from '../../src/flow/requests/decide.ts'
import { type BatchResult, decideBatch } from '../../src/flow/requests/decide-batch.ts'
import { startBatch } from '../../src/flow/requests/start-batch.ts'
import { remindApprovers } from '../../src/flow/tell/remind-approvers.ts'
import { approve, type BatchLine, nameApprovers } from '../support/batches.ts'
import { type Decider, deciderOf, proveFor } from '../support/deciders.ts'
import { enrolWithPasskey } from '../support/enrolled.ts'
import { ask, type LiveSetting, setUpOwner } from '../support/live.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let deps: FlowDeps
let setting: LiveSetting
let owner: Decider
let colleague: Decider

beforeAll(async () => {
  service = await startService()
  deps = service.composition.deps
  setting = await setUpOwner(service)
  owner = await deciderOf(service, setting.owner)
  colleague = await deciderOf(service, await enrolWithPasskey(service, 'colleague@example.com'))
})
afterAll(() => service.close())

/** Decides the batch below HTTP; `before` runs just before the write of each request. */
async function decideWith(
  items: readonly BatchLine[],
  before: (id: string) => Promise<void>,
  { user, person } = owner,
): Promise<BatchResult[]> {
  const [session] = await deps.sessions.liveOf(user.id, deps.clock.now(), 1)
  const signedIn: SignedIn = { user, session: session ?? expect.unreachable() }
  const { batch_id, options } = await startBatch(deps, signedIn, items)
  if (options === undefined) return expect.unreachable()
  const response = person.authenticator.authenticate(options, { origin: deps.party.origin })
  const watched: FlowDeps = {
    ...deps,
    requests: {
      ...deps.requests,
      async recordVote(id, version, change) {
        await before(id)
        return deps.requests.recordVote(id, version, change)
      },
    },
  }
  const proof = { method: 'passkey' as const, response }
  return decideBatch(watched, signedIn, { batchId: batch_id, comment: null, proof, address: '127.0.0.1' })
}

/** Does something once, before the first write to this request. */
function once(target: string, act: () => Promise<unknown>): (id: string) => Promise<void> {
  let done = false
  return async (id) => {
    if (done || id !== target) return
    done = true
    await act()
  }
}

const nameBoth = (quorum: number) =>
  nameApprovers(service, owner.user.id, { approvers: [owner.user.id, colleague.user.id], quorum })
const decideAs = async (who: Decider, id: string) =>
  decide(deps, who, await proveFor(deps, who, id, 'approved'))
const codeOf = (result: BatchResult | undefined) =>
  result !== undefined && 'refused' in result ? result.refused.code : 'voted'

describe('the writes of a batch', () => {
  it('come high impact first, else in the order of the items; the results in the order of the items', async () => {
    await nameBoth(1)
    const marks = [false, true, false, true, false]
    const ids: string[] = []
    for (const requires_individual_decision of marks)
      ids.push(await ask(setting, { requires_individual_decision }))
    const order: string[] = []
    const results = await decideWith(approve(...ids), async (id) => void order.push(id))
    expect(order).toEqual([1, 3, 0, 2, 4].map((index) => ids[index]))
    expect(results.map(({ request }) => request.id)).toEqual(ids)
  })

  it('leave an item alone whose race was lost in the last moment, and write the others', async () => {
    await nameBoth(1)
    const ids = [await ask(setting), await ask(setting), await ask(setting)]
    const [, lost = ''] = ids
    const results = await decideWith(
      approve(...ids),
      once(lost, () => decideAs(colleague, lost)),
    )
    expect(results.map(codeOf)).toEqual(['voted', 'not_pending', 'voted'])
    expect(results.map(({ request }) => request.status)).toEqual(['approved', 'approved', 'approved'])
    expect((await deps.requests.find(lost))?.votes.map(({ user_id }) => user_id)).toEqual([colleague.user.id])
  })

  it('do not close what the person saw without a vote that came in the last moment', async () => {
    await nameBoth(2)
    const ids = [await ask(setting), await ask(setting)]
    const [first = ''] = ids
    const results = await decideWith(
      approve(...ids),
      once(first, () => decideAs(colleague, first)),
    )
    expect(results.map(codeOf)).toEqual(['batch_changed', 'voted'])
    expect(results[0]).toMatchObject({ refused: { publicMessage: REFUSALS.batch_changed[1] } })
    expect(await deps.requests.find(first)).toMatchObject({ status: 'pending', votes: [{}] })
  })

  it('take no notice of a reminder in the last moment', async () => {
    await nameBoth(1)
    const id = await ask(setting)
    const key = (await deps.requests.find(id))?.api_key_id ?? ''
    const found = (await deps.apiKeys.find(key)) ?? expect.unreachable()
    const caller = { key: found, scopes: found.scopes, address: '127.0.0.1' }
    const results = await decideWith(
      approve(id),
      once(id, () => remindApprovers(deps, caller, id)),
    )
    expect(results.map(codeOf)).toEqual(['voted'])
    expect(await deps.requests.find(id)).toMatchObject({ status: 'approved', reminder_count: 1 })
  })

  it('leave out what was withdrawn in the last moment', async () => {
    await nameBoth(1)
    const ids = [await ask(setting), await ask(setting)]
    const [first = ''] = ids
    const key = (await deps.requests.find(first))?.api_key_id ?? ''
    const found = (await deps.apiKeys.find(key)) ?? expect.unreachable()
    const caller = { key: found, scopes: found.scopes, address: '127.0.0.1' }
    const results = await decideWith(
      approve(...ids),
      once(first, () => cancelRequest(deps, caller, first)),
    )
    expect(results.map(codeOf)).toEqual(['not_pending', 'voted'])
    expect(await deps.requests.find(first)).toMatchObject({ status: 'expired', cancelled: true, votes: [] })
  })

  it('end where the person is reset in between: what the gesture has not signed yet, it does not sign (T23)', async () => {
    const person = await enrolWithPasskey(service, 'reset@example.com')
    await nameApprovers(service, owner.user.id, { approvers: [person.userId], quorum: 1 })
    const ids = [await ask(setting), await ask(setting), await ask(setting)]
    const [first = ''] = ids
    const reset = once(first, () => resetPerson(deps, { email: person.email }, { kind: 'cli' }))
    const results = await decideWith(approve(...ids), reset, await deciderOf(service, person))
    expect(results.map(codeOf)).toEqual(['voted', 'not_signed_in', 'not_signed_in'])
    const found = await Promise.all(ids.map((id) => deps.requests.find(id)))
    expect(found.map((request) => request?.status)).toEqual(['approved', 'pending', 'pending'])
  })

  it('stop with the store, and what was written until then is whole', async () => {
    await nameBoth(1)
    const ids = [await ask(setting), await ask(setting), await ask(setting)]
    const fails = async (id: string) => {
      if (id === ids[1]) throw new Error('the store went away')
    }
    await expect(decideWith(approve(...ids), fails)).rejects.toThrow('the store went away')
    const found = await Promise.all(ids.map((id) => deps.requests.find(id)))
    expect(found.map((request) => request?.status)).toEqual(['approved', 'pending', 'pending'])
    expect(found[0]?.decision?.receipt.signature).toBeDefined()
    expect(found.slice(1).map((request) => request?.votes)).toEqual([[], []])
  })
})

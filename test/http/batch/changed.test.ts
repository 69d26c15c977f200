import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { REFUSALS } from '../../../src/domain/errors.ts'
import { approve, BATCH, decideBatch, nameApprovers, proveBatch, setDelegate } from '../../support/batches.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { asMembers } from '../../support/members.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let own: LiveSetting
let away: LiveSetting
let second: EnrolledPerson
let third: EnrolledPerson

beforeAll(async () => {
  service = await startService()
  own = await setUpOwner(service)
  away = await setUpOwner(service, 'away@example.com')
  second = await enrolWithPasskey(service, 'second@example.com')
  third = await enrolWithPasskey(service, 'third@example.com')
  await nameApprovers(service, away.owner.userId, { approvers: [], members: [own.owner.userId] })
})
afterAll(() => service.close())

beforeEach(async () => {
  await nameThree(1)
  await setDelegate(service, away.owner.userId, own.owner.userId)
})

const nameThree = (quorum: number) =>
  nameApprovers(service, own.owner.userId, {
    approvers: [own.owner.userId, second.userId, third.userId],
    quorum,
  })

const requests = () => service.composition.connection.collection<{ _id: string }>('requests')

interface Change {
  what: string
  /** Makes the request that will change. */
  make?: () => Promise<string>
  change(id: string): Promise<unknown>
}

const changes: Change[] = [
  {
    what: 'was decided by somebody else',
    change: (id) => decideByPasskey({ service, owner: second }, id, 'approved'),
  },
  {
    what: 'was rejected by somebody else with a batch',
    change: (id) => decideBatch(service, second, [{ id, decision: 'rejected' }]),
  },
  {
    what: 'got one more vote and is still pending',
    make: async () => {
      await nameThree(2)
      return ask(own)
    },
    change: (id) => decideByPasskey({ service, owner: third }, id, 'approved'),
  },
  {
    what: 'was voted on by the person themself in another tab',
    make: async () => {
      await nameThree(2)
      return ask(own)
    },
    change: (id) => decideByPasskey(own, id, 'approved'),
  },
  {
    what: 'expired',
    change: (id) => requests().updateOne({ _id: id }, { $set: { expires_at: new Date(Date.now() - 1_000) } }),
  },
  { what: 'was withdrawn', change: (id) => callWithKey(service, own.key, `/${id}/cancel`, {}) },
  {
    what: 'is no longer the delegate’s to decide',
    make: () => ask(away),
    change: () => setDelegate(service, away.owner.userId, null),
  },
  {
    what: 'belongs to an account that the delegate had to leave',
    make: () => ask(away),
    change: () => nameApprovers(service, away.owner.userId, { approvers: [], members: [] }),
  },
]

describe('T18: a batch in which one request', () => {
  it.each(changes)('$what is refused as a whole, and nothing is recorded', async ({ make, change }) => {
    const changing = await (make ?? (() => ask(own)))()
    await nameThree(1)
    const others = [await ask(own), await ask(own, { requires_individual_decision: true })]
    const [one = '', two = ''] = others
    const proven = await proveBatch(service, own.owner, approve(one, changing, two))
    await change(changing)
    const before = JSON.stringify((await service.composition.deps.requests.find(changing))?.votes)
    const { status, body } = await own.owner.browser.post(BATCH, proven)
    const [wanted, message] = REFUSALS.batch_changed
    expect({ status, body }).toEqual({
      status: wanted,
      body: { error: 'batch_changed', message, ids: [changing] },
    })
    for (const id of others)
      expect(await service.composition.deps.requests.find(id)).toMatchObject({ status: 'pending', votes: [] })
    const after = await service.composition.deps.requests.find(changing)
    expect(JSON.stringify(after?.votes)).toBe(before)
    const again = await own.owner.browser.post(BATCH, proven)
    expect(again.body).toMatchObject({ error: 'challenge_invalid' })
    await nameApprovers(service, away.owner.userId, { approvers: [], members: [own.owner.userId] })
  })

  it('would count for another principal is refused', async () => {
    const { userId } = own.owner
    await nameApprovers(service, away.owner.userId, {
      approvers: [second.userId, third.userId],
      quorum: 2,
      members: [userId, second.userId, third.userId],
    })
    await setDelegate(service, second.userId, userId)
    await setDelegate(service, third.userId, userId)
    const id = await ask(away)
    const proven = await proveBatch(service, own.owner, approve(id))
    await setDelegate(service, second.userId, null)
    expect((await own.owner.browser.post(BATCH, proven)).body).toMatchObject({
      error: 'batch_changed',
      ids: [id],
    })
    await setDelegate(service, third.userId, null)
    expect(await service.composition.deps.requests.find(id)).toMatchObject({ status: 'pending', votes: [] })
    await nameApprovers(service, away.owner.userId, { approvers: [], members: [userId] })
  })
})

describe('unchanged requests', () => {
  it('a reminder, and another policy for later requests', async () => {
    const ids = [await ask(own), await ask(own)]
    const [first = ''] = ids
    const proven = await proveBatch(service, own.owner, approve(...ids))
    expect((await callWithKey(service, own.key, `/${first}/remind`, {})).status).toBe(200)
    await nameThree(3)
    const { data } = expectStatus(await own.owner.browser.post(BATCH, proven), 200)
    expect(data).toMatchObject([{ status: 'approved' }, { status: 'approved' }])
  })

  it('T79: that a person named in it was removed from the account meanwhile', async () => {
    const id = await ask(own)
    const proven = await proveBatch(service, second, approve(id))
    const accounts = service.composition.connection.collection<{ _id: string }>('accounts')
    const owner = await service.composition.deps.users.find(own.owner.userId)
    await accounts.updateOne(
      { _id: owner?.account_id ?? '' },
      { $set: { members: asMembers([third.userId]) } },
    )
    const { data } = expectStatus(await second.browser.post(BATCH, proven), 200)
    expect(data).toMatchObject([{ id, status: 'approved' }])
  })
})

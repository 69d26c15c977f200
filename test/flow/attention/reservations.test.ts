import { describe, expect, it } from 'vitest'
import { MOST_PENDING } from '../../../src/domain/attention.ts'
import { asMembers } from '../../support/members.ts'
import { newRequester, useWorker, type Worker } from '../../support/worker.ts'

type Requester = Awaited<ReturnType<typeof newRequester>>

/** How each of so many requests, made at once, was answered. */
async function askMany(requester: Requester, count: number) {
  const asked = await Promise.allSettled(Array.from({ length: count }, () => requester.request()))
  const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  return { made: asked.length - refused.length, refused }
}

/** Leaves room for so many before the owner: the other reservations hold pending requests, written past the verb. */
async function leaveRoom(worker: Worker, requester: Requester, room: number): Promise<void> {
  const sample = await worker.stored('requests').findOne({ _id: await requester.request() })
  const ids = Array.from({ length: MOST_PENDING - room - 1 }, (_, n) => `req_${String(n).padStart(26, '0')}`)
  const copies = ids.map((_id) => ({ ...sample, _id, outbox: [], audit: [], outbox_token: undefined }))
  await worker.stored('requests').insertMany(copies, { ignoreUndefined: true })
  const held = ids.map((id) => ({ id, at: new Date() }))
  const name = `${requester.account.id}:${requester.user.id}`
  await worker.stored('quotas').updateOne({ _id: name }, { $push: { held: { $each: held } } } as object)
}

describe('T24: pending requests before one approver', () => {
  it('are 250 at most, however many are made at once', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    await leaveRoom(worker, requester, 5)
    const { made, refused } = await askMany(requester, 20)
    expect(made).toBe(5)
    expect(refused.map(({ code }) => code)).toEqual(Array.from({ length: 15 }, () => 'too_many_pending'))
    const pending = await worker.stored('requests').countDocuments({ status: 'pending' })
    expect(pending).toBe(MOST_PENDING)
    expect(refused[0].details).toEqual({ retry_after: 60, limit: MOST_PENDING })
    // Nothing was counted for what was not made.
    expect(await worker.stored('quotas').findOne({ used: { $gte: 0 } })).toMatchObject({ used: 6 })
  })

  it('leave room as soon as one is decided, withdrawn, lapsed, or has the approver’s vote', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    await leaveRoom(worker, requester, 0)
    expect((await askMany(requester, 1)).made).toBe(0)
    const some = await worker.stored('requests').find({}).limit(4).toArray()
    const [decided, withdrawn, lapsed, voted] = some.map(({ _id }) => _id)
    await worker.stored('requests').updateOne({ _id: String(decided) }, { $set: { status: 'approved' } })
    await worker.stored('requests').updateOne({ _id: String(withdrawn) }, { $set: { status: 'expired' } })
    await worker.stored('requests').updateOne({ _id: String(lapsed) }, { $set: { expires_at: new Date(0) } })
    const votes = [{ user_id: 'usr_delegate', on_behalf_of: requester.user.id }]
    await worker.stored('requests').updateOne({ _id: String(voted) }, { $set: { votes } })
    expect(await askMany(requester, 6)).toMatchObject({ made: 4 })
  })

  it('are freed for all who ask at once: nobody is refused because another has just cleared them', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    await leaveRoom(worker, requester, 0)
    await worker.stored('requests').updateMany({}, { $set: { expires_at: new Date(0) } })
    expect(await askMany(requester, 20)).toEqual({ made: 20, refused: [] })
  })

  it('do not count for dry-runs, another account, or another approver', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    await leaveRoom(worker, requester, 0)
    const [sandbox, other] = [await newRequester(worker, true), await newRequester(worker)]
    // The account of somebody else who is asked the same person.
    const policy = { approvers: [requester.user.id], quorum: 1, passkey_only: false, reminders: [] }
    const members = asMembers([requester.user.id])
    await worker.stored('accounts').updateOne({ _id: other.account.id }, { $set: { policy, members } })
    expect(await askMany(other, 3)).toMatchObject({ made: 3 })
    expect(await askMany(sandbox, 3)).toMatchObject({ made: 3 })
    expect(
      await worker.stored('quotas').findOne({ _id: `${sandbox.account.id}:${sandbox.user.id}` }),
    ).toBeNull()
    const own = { ...policy, approvers: [other.user.id] }
    await worker
      .stored('accounts')
      .updateOne(
        { _id: requester.account.id },
        { $set: { policy: own, members: asMembers([other.user.id]) } },
      )
    expect(await askMany(requester, 2)).toMatchObject({ made: 2 })
  })

  it('give reservations back to nobody who took none: a request refused for one approver holds none before the others', async () => {
    const worker = await useWorker()
    const [requester, second] = [await newRequester(worker), await newRequester(worker)]
    await leaveRoom(worker, requester, 0)
    const policy = {
      approvers: [requester.user.id, second.user.id],
      quorum: 1,
      passkey_only: false,
      reminders: [],
    }
    const members = asMembers([second.user.id])
    await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { policy, members } })
    expect(await askMany(requester, 2)).toMatchObject({ made: 0 })
    const reservations = await worker
      .stored('quotas')
      .findOne({ _id: `${requester.account.id}:${second.user.id}` })
    expect(reservations?.held).toEqual([])
  })

  it('a reservation of an attempt that died before its request was made is free after a minute', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    await leaveRoom(worker, requester, 2)
    const name = `${requester.account.id}:${requester.user.id}`
    const dead = [-61_000, -30_000].map((ms, n) => ({ id: `req_dead${n}`, at: new Date(Date.now() + ms) }))
    await worker.stored('quotas').updateOne({ _id: name }, { $push: { held: { $each: dead } } } as object)
    expect(await askMany(requester, 3)).toMatchObject({ made: 1 })
  })

  it('cost nothing of the quota where they are refused, and the last of it goes to whoever has room', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    const { account, user } = requester
    await leaveRoom(worker, requester, 1)
    await worker.stored('accounts').updateOne({ _id: account.id }, { $set: { monthly_quota: 3 } })
    const reservation = (n: number) => ({ id: `req_${String(n).padStart(26, '1')}`, at: new Date() })
    const month = new Date().toISOString().slice(0, 7)
    const takes = Array.from({ length: 30 }, (_, n) =>
      worker.deps.quotas.take({
        accountId: account.id,
        month,
        quota: 3,
        people: n % 3 === 0 ? [] : [user.id],
        reservation: reservation(n),
      }),
    )
    const taken = await Promise.all(takes)
    const got = taken.filter(({ full, usedUp }) => full.length === 0 && !usedUp)
    expect([got.length, await worker.deps.quotas.used(account.id, month)]).toEqual([2, 3])
    expect(taken.filter(({ full }) => full.length > 0).length).toBeGreaterThanOrEqual(19)
    // Given back once more than taken, it makes no room that the quota does not have.
    for (let n = 0; n < 4; n += 1) await worker.deps.quotas.giveBack(account.id, month)
    expect(await worker.deps.quotas.used(account.id, month)).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { expireRequests, settleRequest } from '../../src/flow/requests/settle-request.ts'
import { confirmRequests, liftHold } from '../../src/flow/restore/restored-store.ts'
import { remindApprovers, remindAutomatically } from '../../src/flow/tell/remind-approvers.ts'
import { restoreStore } from '../support/restored.ts'
import { newRequester, useWorker, type Worker } from '../support/worker.ts'

const HOUR = 3600

/** A worker whose clock stands still until it is put forward, so that a second before is one on every machine. */
async function atOurTime() {
  let ahead = 0
  const began = Date.now()
  const worker = await useWorker({ localTime: () => began + ahead })
  const requester = await newRequester(worker)
  return {
    worker,
    requester,
    pass: (seconds: number) => {
      ahead += seconds * 1000
    },
  }
}

async function reminders({ deps }: Worker, id: string) {
  const request = await deps.requests.find(id)
  const told = request?.outbox.filter(({ type }) => type === 'approval.reminded') ?? []
  const audited = request?.audit.filter(({ type }) => type === 'approval.reminded') ?? []
  return { request, told: told.map(({ body }) => JSON.parse(body).data), audited, count: told.length }
}

describe('automatic reminders', () => {
  it('come half-way and at 90 %, each with an event that says so and an entry of the service, then no more', async () => {
    const { worker, requester, pass } = await atOurTime()
    const id = await requester.request({ ttl_seconds: HOUR })
    const counts: number[] = []
    for (const seconds of [0, 1799, 2, 600, 838, 2, 200]) {
      pass(seconds)
      await remindAutomatically(worker.deps)
      counts.push((await reminders(worker, id)).count)
    }
    expect(counts).toEqual([0, 0, 1, 1, 1, 2, 2])
    const { told, audited, request } = await reminders(worker, id)
    expect(told).toEqual([
      { request_id: id, automatic: true },
      { request_id: id, automatic: true },
    ])
    expect(audited).toMatchObject([
      { actor: { kind: 'service' }, subject: id, detail: { automatic: true } },
      { actor: { kind: 'service' }, subject: id },
    ])
    expect(request).toMatchObject({ status: 'pending', reminder_count: 2, version: 3 })
    expect(request).not.toHaveProperty('remind_at')
  })

  it('tells the next moment, of whichever request is first', async () => {
    const { worker, requester, pass } = await atOurTime()
    expect(await remindAutomatically(worker.deps)).toBeUndefined()
    const late = await worker.deps.requests.find(await requester.request({ ttl_seconds: HOUR }))
    const early = await worker.deps.requests.find(await requester.request({ ttl_seconds: 600 }))
    expect(await remindAutomatically(worker.deps)).toEqual(early?.remind_at)
    pass(301)
    expect(await remindAutomatically(worker.deps)).toEqual(at(early?.created_at, 540))
    pass(240)
    expect(await remindAutomatically(worker.deps)).toEqual(late?.remind_at)
  })

  it('collapse into one when the service was down over both', async () => {
    const { worker, requester, pass } = await atOurTime()
    const id = await requester.request({ ttl_seconds: HOUR })
    pass(3500)
    for (let run = 0; run < 3; run += 1) await remindAutomatically(worker.deps)
    expect(await reminders(worker, id)).toMatchObject({ count: 1 })
  })

  it('are suppressed by a manual one less than a minute before, and count with manual ones', async () => {
    const { worker, requester, pass } = await atOurTime()
    const { deps } = worker
    const id = await requester.request({ ttl_seconds: HOUR })
    pass(1750)
    await remindApprovers(deps, requester.caller, id)
    pass(51)
    await remindAutomatically(deps)
    expect(await reminders(worker, id)).toMatchObject({ count: 1, told: [{ request_id: id }] })
    pass(1440)
    await remindAutomatically(deps)
    expect(await reminders(worker, id)).toMatchObject({ count: 2, request: { reminder_count: 2 } })
  })

  it('are not the caller’s: the first one the caller asks for goes through, the second in a minute does not', async () => {
    const { worker, requester, pass } = await atOurTime()
    const id = await requester.request({ ttl_seconds: HOUR })
    pass(1801)
    await remindAutomatically(worker.deps)
    pass(1)
    await remindApprovers(worker.deps, requester.caller, id)
    const refused = remindApprovers(worker.deps, requester.caller, id)
    await expect(refused).rejects.toMatchObject({ code: 'remind_rate_limited' })
    pass(1400)
    await remindAutomatically(worker.deps)
    expect(await reminders(worker, id)).toMatchObject({ count: 2 })
  })

  it.each([
    ['expired', { expires_at: new Date(Date.now() - 1_000) }],
    ['approved', { status: 'approved' }],
    ['cancelled', { status: 'expired', cancelled: true }],
  ])('are quiet once the request is %s', async (_what, change) => {
    const { worker, requester, pass } = await atOurTime()
    const id = await requester.request({ ttl_seconds: HOUR })
    await worker.stored('requests').updateOne({ _id: id }, { $set: change })
    pass(1801)
    expect(await remindAutomatically(worker.deps)).toBeUndefined()
    expect(await reminders(worker, id)).toMatchObject({ count: 0, request: { version: 1 } })
  })

  it('wait after a restore until the operator lifts the hold, as do those that the caller asks for', async () => {
    const { worker, requester, pass } = await atOurTime()
    const { deps } = worker
    const [first, second] = [await requester.request(), await requester.request()]
    const held = await restoreStore(deps)
    const later = await requester.request({ ttl_seconds: 2 * HOUR })
    pass(1801)
    const counts = async () => {
      await remindAutomatically(deps)
      return Promise.all([first, second, later].map(async (id) => (await reminders(worker, id)).count))
    }
    expect(await counts()).toEqual([0, 0, 0])
    await expect(remindApprovers(deps, requester.caller, first)).rejects.toMatchObject({
      code: 'held_after_restore',
    })
    await remindApprovers(deps, requester.caller, later)
    await confirmRequests(deps, held, [first], { withdrawOpen: false, actor: { kind: 'cli' } })
    expect(await counts()).toEqual([1, 0, 1])
    await liftHold(deps, held, { kind: 'cli' })
    expect(await counts()).toEqual([1, 1, 1])
    await remindApprovers(deps, requester.caller, second)
  })

  it('are not for sandbox requests', async () => {
    const { worker, pass } = await atOurTime()
    const requester = await newRequester(worker, true)
    const id = await requester.request({ ttl_seconds: HOUR })
    pass(1801)
    expect(await remindAutomatically(worker.deps)).toBeUndefined()
    const { request } = await reminders(worker, id)
    expect(request).not.toHaveProperty('remind_at')
    expect(request).not.toHaveProperty('reminders')
  })

  it('follow the policy as it was when the request was made', async () => {
    const { worker, requester, pass } = await atOurTime()
    const accounts = worker.stored('accounts')
    const setPolicy = (reminders: number[]) =>
      accounts.updateOne({ _id: requester.account.id }, { $set: { 'policy.reminders': reminders } })
    await setPolicy([0.1])
    const early = await requester.request({ ttl_seconds: HOUR })
    await setPolicy([])
    const never = await requester.request({ ttl_seconds: HOUR })
    pass(361)
    await remindAutomatically(worker.deps)
    expect(
      [await reminders(worker, early), await reminders(worker, never)].map(({ count }) => count),
    ).toEqual([1, 0])
  })

  it('come once however many processes look at once, also across a manual one', async () => {
    const { worker, requester, pass } = await atOurTime()
    const ids: string[] = []
    for (let i = 0; i < 10; i += 1) ids.push(await requester.request({ ttl_seconds: HOUR }))
    pass(1801)
    const manual = ids.map((id) => remindApprovers(worker.deps, requester.caller, id).catch(() => undefined))
    const sweeps = [1, 2, 3, 4].map(() => remindAutomatically(worker.deps))
    await Promise.all([...manual, ...sweeps])
    for (const id of ids) {
      const { count, told, request } = await reminders(worker, id)
      const automatic = told.filter((data) => data?.automatic === true).length
      expect(automatic).toBeLessThanOrEqual(1)
      expect([count, request?.reminder_count]).toEqual([automatic + 1, automatic + 1])
    }
  })
})

function at(start: Date | undefined, seconds: number): Date {
  return new Date((start?.getTime() ?? Number.NaN) + seconds * 1000)
}

describe('expireRequests', () => {
  it('works off a backlog of more than one batch, and tells when the next is due', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    for (let i = 0; i < 40; i += 1) await requester.request()
    await worker.stored('requests').updateMany({}, { $set: { expires_at: new Date(Date.now() - 1_000) } })
    const open = await worker.deps.requests.find(await requester.request())
    expect(await expireRequests(worker.deps)).toEqual(open?.expires_at)
    expect(await worker.stored('requests').countDocuments({ status: 'expired' })).toBe(40)
  })

  it('T77: leaves to a vote what the vote won, and to expiry what expired first', async () => {
    const worker = await useWorker()
    const requester = await newRequester(worker)
    const id = await requester.request()
    await worker
      .stored('requests')
      .updateOne({ _id: id }, { $set: { expires_at: new Date(Date.now() - 1_000) } })
    const lapsed = await worker.deps.requests.lapsed(new Date(), 10)
    await worker.stored('requests').updateOne({ _id: id }, { $set: { status: 'approved' } })
    expect(lapsed.map((request) => request.id)).toEqual([id])
    expect(await expireRequests(worker.deps)).toBeUndefined()
    expect(await worker.deps.requests.find(id)).toMatchObject({ status: 'approved', version: 1 })
  })

  it('judges by the clock of the database, whatever ours says', async () => {
    let ahead = 0
    const worker = await useWorker({ localTime: () => Date.now() + ahead })
    const requester = await newRequester(worker)
    const id = await requester.request()
    ahead = 7_200_000
    await expireRequests(worker.deps)
    expect(await worker.deps.requests.find(id)).toMatchObject({ status: 'pending' })
    const request = await worker.deps.requests.find(id)
    if (request === undefined) throw new Error('gone')
    expect((await settleRequest(worker.deps, request)).status).toBe('pending')
  })
})

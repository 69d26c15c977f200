import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { overviewAnswer } from '../../../src/http/api/overview.ts'
import { alter, lapse, newCaller } from '../../support/caller.ts'
import { type EnrolledPerson, expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, proofFor, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/overview'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

async function overview(person: EnrolledPerson, query = '') {
  const body = expectStatus(await person.browser.get(`${PATH}${query}`), 200)
  expect(overviewAnswer.safeParse(body).error?.issues ?? []).toEqual([])
  return overviewAnswer.parse(body)
}

let owners = 0
const freshOwner = () => {
  owners += 1
  return setUpOwner(service, `figures${owners}@example.com`)
}

const DAY_MS = 86_400_000
/** The day in UTC that many days ago. */
const dayAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

/** Makes a request, and has it seem to be made at noon of that day. */
async function askedOn(setting: LiveSetting, day: string): Promise<string> {
  const id = await ask(setting)
  await alter(service, 'requests', id, { created_at: new Date(`${day}T12:00:00Z`) })
  return id
}

describe('GET /api/v1/account/overview', () => {
  it('counts live requests by day, outcome, key and approver', async () => {
    const setting = await freshOwner()
    const [yesterday, before] = [dayAgo(1), dayAgo(3)]
    const approved = await askedOn(setting, yesterday)
    const rejected = await askedOn(setting, yesterday)
    const lapsed = await askedOn(setting, yesterday)
    const pending = await askedOn(setting, yesterday)
    const old = await askedOn(setting, before)
    expectStatus(await decideByPasskey(setting, approved, 'approved'), 200)
    const passkey = await proofFor(setting, rejected, 'rejected')
    const rejection = { decision: 'rejected', reason: 'Not now', passkey }
    const said = await setting.owner.browser.post(`/api/v1/approvals/${rejected}/decision`, rejection)
    expectStatus(said, 200)
    await lapse(service, lapsed)
    const seen = await overview(setting.owner, '?days=7')
    expect(seen.days).toHaveLength(7)
    const counted = seen.days.filter(({ day }) => day === yesterday || day === before)
    expect(counted).toEqual([
      { day: before, approved: 0, rejected: 0, expired: 0, withdrawn: 0, pending: 1 },
      { day: yesterday, approved: 1, rejected: 1, expired: 1, withdrawn: 0, pending: 1 },
    ])
    expect(seen.total).toEqual({ approved: 1, rejected: 1, expired: 1, withdrawn: 0, pending: 2 })
    expect(seen.oldest_pending?.id).toBe(old)
    expect(seen.seconds_to_decide?.median).toBeGreaterThan(0)
    expect(seen.keys).toEqual([
      { id: expect.stringMatching(/^key_/), name: expect.any(String), ...seen.total },
    ])
    expect(seen.approvers).toMatchObject([
      { id: setting.owner.userId, name: expect.any(String), approved: 1, rejected: 1, notes: [] },
    ])
    expect(seen.reasons).toEqual([{ reason: 'Not now', times: 1 }])
    // A second look reads what was pending or is new, and counts nothing twice.
    expectStatus(await decideByPasskey(setting, old, 'rejected'), 200)
    expectStatus(await decideByPasskey(setting, pending, 'approved'), 200)
    await ask(setting)
    const [again] = await Promise.all([overview(setting.owner), overview(setting.owner)])
    expect(again.total).toEqual({ approved: 2, rejected: 2, expired: 1, withdrawn: 0, pending: 1 })
    expect(again.days).toHaveLength(30)
    expect((await overview(setting.owner)).total, 'a third look').toEqual(again.total)
    expect((await overview(setting.owner, '?days=1')).total).toMatchObject({ approved: 0, rejected: 0 })
  })

  it('counts what was withdrawn apart, and no dry-run', async () => {
    const setting = await freshOwner()
    const { owner } = setting
    const id = await ask(setting)
    expectStatus(await owner.browser.post('/api/v1/account/requests/withdraw', { ids: [id] }), 200)
    const user = await service.composition.deps.users.find(owner.userId)
    if (user === undefined) throw new Error('the owner is gone')
    await (await newCaller(service, { user, sandbox: true })).createdId()
    expect((await overview(owner)).total).toEqual({
      ...{ approved: 0, rejected: 0, expired: 0, withdrawn: 1, pending: 0 },
    })
  })

  it('points out who decides faster than one can read, and who never says no', async () => {
    const setting = await freshOwner()
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    const { votes } = (await service.composition.deps.requests.find(id)) ?? {}
    const [vote] = votes ?? []
    if (vote === undefined) throw new Error('no vote')
    const requests = service.composition.connection.collection<{ _id: string }>('requests')
    const document = await requests.findOne({ _id: id })
    // An id may itself end in two digits.
    const other = `${id.slice(0, -3)}${id.at(-3) === '0' ? '1' : '0'}`
    const copies = Array.from({ length: 60 }, (_, index) => ({
      ...document,
      _id: `${other}${String(index).padStart(2, '0')}`,
      decision: undefined,
      seen: [{ approver: vote.approver, at: new Date(vote.at.getTime() - (index % 2 === 0 ? 1000 : 9000)) }],
    }))
    await requests.insertMany(copies)
    const [approver] = (await overview(setting.owner)).approvers
    expect(approver).toMatchObject({ approved: 61, rejected: 0, notes: ['quick', 'never_rejects'] })
    expect(approver?.quick).toBeGreaterThanOrEqual(30)
    expect(approver?.median_look).toBeGreaterThan(0)
  })

  it.each([
    ['days', 'must be at most 90', 'days=91'],
    ['days', 'must be at least 1', 'days=0'],
    ['days', 'must be a whole number', 'days=1e1'],
    ['account', 'must be a text', 'account=a&account=b'],
  ])('400: refuses %s, which %s, in %s', async (field, detail, query) => {
    const { owner } = await freshOwner()
    const { status, body } = await owner.browser.get(`${PATH}?${query}`)
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'invalid_field', message: expect.any(String), field, detail },
    })
  })
})

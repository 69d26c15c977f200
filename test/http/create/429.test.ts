import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { asMembers } from '../../support/members.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe('429 of the rate limit', () => {
  it.each([false, true])('refuses the 61st creation within a minute (sandbox: %s)', async (sandbox) => {
    const caller = await newCaller(service, { sandbox })
    const answers = await Promise.all(Array.from({ length: 60 }, () => caller.create({ action: 'x' })))
    expect(answers.every((answer) => answer.status === 201)).toBe(true)
    const remaining = answers.map((answer) => Number(answer.headers.get('x-ratelimit-remaining')))
    expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index))
    const refused = await caller.create({ action: 'x' })
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({
      error: 'rate limit exceeded',
      message: expect.any(String),
      retry_after: expect.any(Number),
    })
    const { retry_after } = refused.body
    expect(Number.isInteger(retry_after)).toBe(true)
    expect(retry_after).toBeGreaterThanOrEqual(1)
    expect(retry_after).toBeLessThanOrEqual(60)
    expect(refused.headers.get('retry-after')).toBe(String(retry_after))
    expect(refused.headers.get('x-ratelimit-limit')).toBe('60')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    const wait = Number(refused.headers.get('x-ratelimit-reset')) - Date.now() / 1000
    expect(Math.abs(wait - Number(retry_after))).toBeLessThan(3)
    expect(await stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })).toBe(60)
    const other = await newCaller(service, { user: caller.user })
    expect((await other.create({ action: 'x' })).status).toBe(201)
  })

  it('counts refused creations, but reads have a count of their own', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await Promise.all(Array.from({ length: 59 }, () => caller.create({})))
    expect((await caller.create({ action: 'x' })).status).toBe(429)
    expect((await caller.read(id)).headers.get('x-ratelimit-remaining')).toBe('119')
  })
})

describe('429 of the monthly quota', () => {
  const limitTo = (caller: TestCaller, monthly_quota: number) =>
    alter(service, 'accounts', caller.user.account_id, { monthly_quota })

  it('refuses what exceeds it until the month ends, by the calendar of UTC', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 2)
    await caller.createdId()
    await caller.createdId()
    const refused = await caller.create({ action: 'x' })
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({
      error: 'quota_exceeded',
      message: expect.any(String),
      retry_after: expect.any(Number),
    })
    const now = new Date()
    const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    const left = (monthEnd - now.getTime()) / 1000
    expect(Math.abs(Number(refused.body.retry_after) - left)).toBeLessThan(5)
    expect(refused.headers.get('retry-after')).toBe(String(refused.body.retry_after))
    expect(refused.headers.get('x-ratelimit-limit')).toBe('2')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(refused.headers.get('x-ratelimit-reset'))).toBe(monthEnd / 1000)
    expect(await stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })).toBe(2)
  })

  it('counts sandbox requests and all keys of the account together', async () => {
    const live = await newCaller(service)
    const sandbox = await newCaller(service, { user: live.user, sandbox: true })
    await limitTo(live, 2)
    await live.createdId()
    await sandbox.createdId()
    expect((await sandbox.create({ action: 'x' })).body.error).toBe('quota_exceeded')
    expect((await live.create({ action: 'x' })).body.error).toBe('quota_exceeded')
  })

  it('is not used up by refused requests or replays', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 2)
    await caller.create({})
    await caller.create({ action: 'x', callback_url: 'ftp://a.example' })
    await caller.create({ action: 'x', sandbox_decision: 'approved' })
    const headers = { 'Idempotency-Key': 'k' }
    expect((await caller.create({ action: 'x' }, headers)).status).toBe(201)
    expect((await caller.create({ action: 'x' }, headers)).status).toBe(201)
    expect((await caller.create({ action: 'x' })).status).toBe(201)
    expect((await caller.create({ action: 'x' })).body.error).toBe('quota_exceeded')
  })

  it('is exact when 20 arrive at once', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 7)
    const answers = await Promise.all(Array.from({ length: 20 }, () => caller.create({ action: 'x' })))
    expect(answers.filter((answer) => answer.status === 201).length).toBe(7)
    expect(answers.filter((answer) => answer.body.error === 'quota_exceeded').length).toBe(13)
  })

  it('0 means none', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 0)
    await caller.createdId()
    expect((await caller.create({ action: 'x' })).status).toBe(201)
  })
})

describe('422 of a policy nobody could meet', () => {
  it('refuses with no_eligible_approver when the quorum exceeds the approvers, and takes no quota', async () => {
    const caller = await newCaller(service)
    const policy = { approvers: [caller.user.id], quorum: 2, passkey_only: false }
    await alter(service, 'accounts', caller.user.account_id, { policy, members: asMembers(policy.approvers) })
    const answer = await caller.create({ action: 'x' })
    expect(answer.status).toBe(422)
    expect(answer.body).toEqual({ error: 'no_eligible_approver', message: expect.any(String) })
    expect(
      await stored(service, 'quotas').countDocuments({
        used: { $gt: 0 },
        _id: { $regex: caller.user.account_id },
      }),
    ).toBe(0)
  })

  it('refuses under passkey_only when nobody has a passkey, but not from a sandbox key', async () => {
    const caller = await newCaller(service)
    const sandbox = await newCaller(service, { user: caller.user, sandbox: true })
    const policy = { approvers: [], quorum: 1, passkey_only: true }
    await alter(service, 'accounts', caller.user.account_id, { policy, members: asMembers(policy.approvers) })
    expect((await caller.create({ action: 'x' })).body.error).toBe('no_eligible_approver')
    expect((await sandbox.create({ action: 'x' })).status).toBe(201)
  })
})

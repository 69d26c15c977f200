import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const count = (caller: TestCaller) => stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })
const claimOf = (caller: TestCaller, key: string) => ({ _id: `${caller.keyId}:create:${key}` })

/** Turns a finished claim into one that never finished. */
function unfinish(caller: TestCaller, key: string, claimedAt: Date) {
  const change = { $unset: { answer: 1 as const }, $set: { claimed_at: claimedAt } }
  return stored(service, 'idempotency').updateOne(claimOf(caller, key), change)
}
const DEAD = () => new Date(Date.now() - 61_000)

describe('Idempotency-Key', () => {
  it('answers the same body again byte for byte, and makes one request', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'order-1' }
    const first = await caller.create({ action: 'Pay', context: { a: 1, b: 2 } }, headers)
    const second = await caller.create({ action: 'Pay', context: { a: 1, b: 2 } }, headers)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(await count(caller)).toBe(1)
  })

  it('does not mind another order of keys or other whitespace', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'order-2' }
    const first = await caller.create({ action: 'Pay', context: { a: 1, b: 2 } }, headers)
    const raw = '{ "context": {"b":2, "a":1.0}, "action":"Pay" }'
    const second = await caller.send('/api/v1/approvals/request', { method: 'POST', raw, headers })
    expect(second.text).toBe(first.text)
  })

  it('replays the sandbox form too', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const headers = { 'Idempotency-Key': 'k' }
    const first = await caller.create({ action: 'Pay' }, headers)
    const second = await caller.create({ action: 'Pay' }, headers)
    expect(second.text).toBe(first.text)
    expect(second.body).toHaveProperty('request_id')
  })

  it('422 idempotency_mismatch for another body, also when only an unknown field differs', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    await caller.create({ action: 'Pay' }, headers)
    for (const json of [{ action: 'Pay!' }, { action: 'Pay', extra: 1 }]) {
      const answer = await caller.create(json, headers)
      expect(answer.status).toBe(422)
      expect(answer.body).toEqual({ error: 'idempotency_mismatch', message: expect.any(String) })
    }
    expect(await count(caller)).toBe(1)
  })

  it('409 idempotency_in_progress while the first is still running', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    await caller.create({ action: 'Pay' }, headers)
    await unfinish(caller, 'k', new Date())
    const answer = await caller.create({ action: 'Pay' }, headers)
    expect(answer.status).toBe(409)
    const message = expect.any(String)
    expect(answer.body).toEqual({ error: 'idempotency_in_progress', message, retry_after: 1 })
    expect(answer.headers.get('retry-after')).toBe('1')
  })

  it('422, not 409, for another body while the first is still running', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    await caller.create({ action: 'Pay' }, headers)
    await unfinish(caller, 'k', new Date())
    expect((await caller.create({ action: 'Other' }, headers)).body.error).toBe('idempotency_mismatch')
  })

  it('10 at once make one request; the others replay it or are told to wait', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => caller.create({ action: 'Pay' }, headers)),
    )
    const ids = new Set(answers.filter((answer) => answer.status === 201).map((answer) => answer.body.id))
    expect(ids.size).toBe(1)
    for (const answer of answers) expect([201, 409]).toContain(answer.status)
    expect(await count(caller)).toBe(1)
  })

  it('after a crash past the insert, the next attempt finishes it under the same id', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    const first = await caller.create({ action: 'Pay' }, headers)
    await unfinish(caller, 'k', DEAD())
    const second = await caller.create({ action: 'Pay' }, headers)
    expect(second.status).toBe(201)
    expect(second.body).toEqual(first.body)
    expect(await count(caller)).toBe(1)
    expect((await caller.create({ action: 'Pay' }, headers)).text).toBe(second.text)
  })

  it('after a crash before the insert, the next attempt makes it under the id already promised', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    const first = await caller.create({ action: 'Pay' }, headers)
    await unfinish(caller, 'k', DEAD())
    await stored(service, 'requests').deleteOne({ _id: String(first.body.id) })
    const second = await caller.create({ action: 'Pay' }, headers)
    expect([second.status, second.body.id]).toEqual([201, first.body.id])
  })

  it('a crash does not cost quota twice, nor does a full quota hide the request that was made', async () => {
    const caller = await newCaller(service)
    await stored(service, 'accounts').updateOne(
      { _id: caller.user.account_id },
      { $set: { monthly_quota: 1 } },
    )
    const headers = { 'Idempotency-Key': 'k' }
    const first = await caller.create({ action: 'Pay' }, headers)
    await unfinish(caller, 'k', DEAD())
    const second = await caller.create({ action: 'Pay' }, headers)
    expect([second.status, second.body.id]).toEqual([201, first.body.id])
    const used = await stored(service, 'quotas')
      .find({ used: { $gte: 0 } })
      .toArray()
    expect(used.find((one) => one._id.startsWith(caller.user.account_id))?.used).toBe(1)
  })

  it('an error of ours gives the claim up: the next call carries on, with the request that may have been written', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    const { requests } = service.composition.deps
    const { insert } = requests
    requests.insert = async (request) => {
      await insert(request)
      throw new Error('the connection broke after the write')
    }
    const broken = await caller.create({ action: 'Pay' }, headers)
    requests.insert = insert
    expect([broken.status, broken.body.error]).toEqual([500, 'internal_error'])
    expect((await caller.create({ action: 'Pay' }, headers)).status).toBe(201)
    expect(await count(caller)).toBe(1)
  })

  it('only one of many takes over a dead claim', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    await caller.create({ action: 'Pay' }, headers)
    await unfinish(caller, 'k', DEAD())
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => caller.create({ action: 'Pay' }, headers)),
    )
    for (const answer of answers) expect([201, 409]).toContain(answer.status)
    expect(answers.filter((answer) => answer.status === 201).length).toBeGreaterThan(0)
    expect(await count(caller)).toBe(1)
  })

  it('can be used again after a refusal, with the body put right', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    expect((await caller.create({ action: 'Pay', ttl_seconds: 1 }, headers)).status).toBe(400)
    expect((await caller.create({ action: 'Pay', callback_url: 'x' }, headers)).status).toBe(400)
    expect((await caller.create({ action: 'Pay', ttl_seconds: 60 }, headers)).status).toBe(201)
  })

  it('is private to the key: another key may use the same text', async () => {
    const one = await newCaller(service)
    const two = await newCaller(service, { user: one.user })
    const headers = { 'Idempotency-Key': 'k' }
    const first = await one.create({ action: 'Pay' }, headers)
    const second = await two.create({ action: 'Other' }, headers)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.id).not.toBe(first.body.id)
  })

  it('is forgotten after 24 hours', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'k' }
    const first = await caller.create({ action: 'Pay' }, headers)
    const claim = await stored(service, 'idempotency').findOne(claimOf(caller, 'k'))
    const kept = Number(claim?.expires_at) - Number(claim?.claimed_at)
    expect(kept).toBe(24 * 3600 * 1000)
    await stored(service, 'idempotency').updateOne(claimOf(caller, 'k'), {
      $set: { expires_at: new Date(Date.now() - 1_000) },
    })
    const second = await caller.create({ action: 'Other' }, headers)
    expect(second.status).toBe(201)
    expect(second.body.id).not.toBe(first.body.id)
  })

  it('takes 255 visible characters, operators and all, as plain text', async () => {
    const caller = await newCaller(service)
    for (const key of ['k'.repeat(255), '{"$ne":null}', '$where', "';--", '~!@#%^&*()']) {
      const headers = { 'Idempotency-Key': key }
      const first = await caller.create({ action: 'Pay' }, headers)
      expect(first.status).toBe(201)
      expect((await caller.create({ action: 'Pay' }, headers)).text).toBe(first.text)
    }
  })
})
